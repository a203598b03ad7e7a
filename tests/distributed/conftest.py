import numpy as np
import pandas as pd
import pytest

from lacunet.distributed._workers import _connect_ray


def make_table(n_rows=1800, seed=0):
    """Numbers, categories, booleans and dates, 15% missing; a class and a number."""
    rng = np.random.RandomState(seed)
    z = rng.randn(n_rows, 4)
    table = pd.DataFrame(z, columns=[*"abcd"])
    table["count"] = rng.poisson(3, n_rows).astype(float)
    table["group"] = np.array(["x", "y", "z"])[rng.randint(3, size=n_rows)]
    table["flag"] = (rng.rand(n_rows) < 0.3).astype(object)
    days = pd.to_timedelta(rng.randint(1000, size=n_rows), unit="D")
    table["day"] = pd.Timestamp("2020-03-01") + days
    table = table.mask(rng.rand(*table.shape) < 0.15)
    table["flag"] = table["flag"].astype("boolean")
    score = z[:, 0] + z[:, 1] * z[:, 2] + (table["group"] == "x")
    table["number"] = score + 0.3 * rng.randn(n_rows)
    table["ill"] = np.where(table["number"] > 0, "yes", "no")
    return table


def write_files(table, folder, n_files=3, row_group_size=200):
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        path = folder / f"part-{number}.parquet"
        table.iloc[rows].to_parquet(path, index=False, row_group_size=row_group_size)
    return folder


@pytest.fixture(scope="session")
def table():
    return make_table()


@pytest.fixture(scope="session")
def files(table, tmp_path_factory):
    """A folder of files for a classifier."""
    folder = tmp_path_factory.mktemp("files")
    return write_files(table.drop(columns="number"), folder)


@pytest.fixture(scope="session")
def local_ray():
    """One local Ray for all tests; fits with workers use it, too."""
    pytest.importorskip("ray")
    with _connect_ray(4, None):
        yield
