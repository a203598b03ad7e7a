"""Models that lacunet 0.1.0 saved load, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lacunet
from lacunet.estimators._format_1 import upgrade

FOLDER = Path(__file__).parents[1] / "data" / "saved-by-0.1.0"
PREDICTED = json.loads((FOLDER / "predictions.json").read_text())


@pytest.fixture
def rows():
    return pd.read_csv(FOLDER / "rows.csv")


@pytest.mark.parametrize(
    ("name", "method", "columns"),
    [
        ("classifier", "predict_proba", ["age", "bmi", "sex", "dose"]),
        ("regressor", "predict", ["age", "bmi", "sex"]),
        ("rbf", "predict_proba", ["age", "bmi", "dose"]),
        ("autoencoder", "transform", ["age", "bmi", "dose"]),
    ],
)
def test_networks_predict_the_same(rows, name, method, columns):
    model = lacunet.load(FOLDER / name)
    predictions = getattr(model, method)(rows[columns])
    np.testing.assert_allclose(predictions, PREDICTED[name], rtol=1e-5)


def test_imputer_fills_in_the_same(rows):
    filled = lacunet.load(FOLDER / "imputer").transform(rows)
    expected = pd.DataFrame(PREDICTED["imputer"], columns=rows.columns)
    pd.testing.assert_frame_equal(filled, expected, rtol=1e-5, check_dtype=False)


def test_models_saved_again_predict_the_same(rows, tmp_path):
    for name in PREDICTED:
        model = lacunet.load(FOLDER / name)
        model.save(tmp_path / name)
        again = lacunet.load(tmp_path / name)
        columns = rows[list(model.feature_names_in_)]
        method = "predict_proba" if hasattr(model, "predict_proba") else "transform"
        if name == "regressor":
            method = "predict"
        np.testing.assert_array_equal(
            *(np.asarray(getattr(m, method)(columns)) for m in (model, again))
        )


def test_a_warm_start_goes_on_from_them(rows):
    model = lacunet.load(FOLDER / "regressor").set_params(warm_start=True, max_epochs=3)
    table = pd.concat([rows[["age", "bmi", "sex"]]] * 3)
    model.fit(table, np.linspace(0, 1, len(table)))
    assert np.isfinite(model.predict(table)).all()


def test_scales_of_earlier_formats_are_those_of_today():
    column = {"index": 0, "name": 0, "kind": "number", "had_holes": True, "levels": []}
    old = {"unit": [4.0], "shift": [0.5], "width": [0.25]}
    lines = {"unit": [4.0, 1.0], "knots": [[0.1, 0.2], []], "heights": [[0.0, 1.0], []]}
    for scale, scaling, expected in (
        ("robust", old, {"centre": [2.0], "scale": [1.0]}),
        (
            "quantile",
            lines,
            {**lines, "knots": [[0.1, 0.2], [0.0]], "heights": [[0.0, 1.0], [0.0]]},
        ),
    ):
        table = {"scale": scale, "columns": [column], "scaling": scaling}
        _, content = upgrade({}, {"class": "", "inputs": {"table": table}})
        new = content["inputs"]["table"]
        assert new["columns"][0].keys() == {"name", "kind", "had_missing", "categories"}
        assert new["scaling"] == expected


def test_command_predicts_the_same(tmp_path):
    pytest.importorskip("click")
    from lacunet.cli import main

    out = tmp_path / "out.csv"
    args = ["predict", FOLDER / "command", FOLDER / "table.csv", "-o", out]
    with pytest.raises(SystemExit) as end:
        main([str(arg) for arg in args])
    assert not end.value.code
    pd.testing.assert_frame_equal(
        pd.read_csv(out), pd.read_csv(FOLDER / "command.csv"), rtol=1e-5
    )
