"""The counts of the data sets beside those of the paper's tables.

To see them: LACUNET_DATA=folder pytest -rP tests/datasets/test_paper.py
"""

import os

import numpy as np
import pytest
from reproduction.datasets import load_dataset
from reproduction.datasets._registry import read_registry

# rows, attributes, missing percent; as printed
TABLE_3 = {
    "bands": (539, 19, 5.38),
    "kidney_disease": (400, 24, 10.54),
    "hepatitis": (155, 19, 5.67),
    "horse": (368, 22, 23.80),
    "mammographics": (961, 5, 3.37),
    "pima": (768, 8, 12.24),
    "winconsin": (699, 9, 0.25),
}
TABLE_5 = {
    "australian": (690, 14, 0.0),
    "bank": (1372, 4, 0.0),
    "breast_cancer": (699, 8, 0.0),
    "crashes": (540, 20, 0.0),
    "diabetes": (768, 8, 0.0),
    "fourclass": (862, 2, 0.0),
    "heart": (270, 13, 0.0),
    "liver_disorders": (345, 6, 0.0),
}
PRINTED = TABLE_3 | TABLE_5


def show(found):
    print(f"\n{'':<16} {'ours':>18}   {'the paper':>18}")  # noqa: T201
    for name, ours in found.items():
        sides = [f"{r:5} x {c:2} {m:6.2f} %" for r, c, m in (ours, PRINTED[name])]
        print(f"{name:<16} {'   '.join(sides)}")  # noqa: T201


def test_the_registry_has_the_counts_of_the_paper():
    found = {}
    for name in PRINTED:
        counts = read_registry()[name].counts
        share = counts.missing / (counts.rows * counts.features)
        found[name] = (counts.rows, counts.features, round(100 * share, 2))
    show(found)
    assert found == PRINTED


@pytest.mark.skipif(
    not os.environ.get("LACUNET_DATA"),
    reason="LACUNET_DATA names no folder with the data sets",
)
def test_the_arrays_have_the_counts_of_the_paper():
    found = {}
    for name in PRINTED:
        X, y = load_dataset(name, return_X_y=True)
        assert set(y) == {0, 1}
        found[name] = (*X.shape, round(100 * float(np.isnan(X).mean()), 2))
    show(found)
    assert found == PRINTED
