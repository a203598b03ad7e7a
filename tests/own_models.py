"""A table and models of it, for the commands that read one's own."""

import numpy as np
import pandas as pd

from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetRegressor
from lacunet.tables import ModelTable


def make_table(n_rows=60, seed=0):
    """Return a table with words, integers, holes, and two targets."""
    stream = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "id": [f"p{k:03}" for k in range(n_rows)],
            "age": stream.randint(20, 80, n_rows).astype(float),
            "town": stream.choice(["Rome", "Bonn"], n_rows),
            "score": stream.randn(n_rows).round(2),
        }
    )
    table["ill"] = np.where(table["age"] > 50, "yes", "no")
    table["cost"] = (table["age"] * 2 + table["score"]).round(2)
    table.loc[stream.rand(n_rows) < 0.2, "age"] = np.nan
    table.loc[stream.rand(n_rows) < 0.2, "town"] = None
    return table


def save_csv(table, path, **options):
    frame = table.copy()
    frame["age"] = frame["age"].astype("Int64")
    frame.to_csv(path, index=False, **options)
    return path


def save_model(path, target="ill", missing=()):
    table = make_table()
    make = LacunetClassifier if target == "ill" else LacunetRegressor
    model = make(
        density=IncompleteGaussianMixture(1),
        n_networks=1,
        max_epochs=1,
        random_state=0,
    ).fit(table[["age", "town", "score"]], table[target].to_numpy())
    known = ModelTable("train.csv", target, missing)
    model.save(path, texts={"table.json": known.to_text()})
    return model
