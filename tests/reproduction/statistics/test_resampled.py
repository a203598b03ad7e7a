import pytest
from reproduction.statistics import paired_differences


def test_differences_are_over_the_splits_that_both_have(make_cell):
    why = {"params": {"why": "no rows"}}
    cells = [
        make_cell(method="a", fold=1, value=4),
        make_cell(method="a", fold=0, value=3),
        make_cell(method="a", fold=0, seed=1, value=9),
        make_cell(method="a", fold=2, value=None, **why),
        make_cell(method="b", fold=0, value=1),
        make_cell(method="b", fold=1, value=5),
        make_cell(method="b", fold=2, value=5),
        make_cell(method="c", fold=0, value=7, dataset="other"),
        make_cell(method="b", fold=0, metric="mse", value=50),
    ]
    found = paired_differences(cells, "a", "b", metric="accuracy")
    assert found.tolist() == [2, -1]


@pytest.mark.parametrize("name", ["experiment", "protocol", "dataset", "rate"])
def test_differences_are_within_one_data_set_and_rate(make_cell, name):
    changed = {name: 0.5 if name == "rate" else "other"}
    cells = [make_cell(method="a"), make_cell(method="b", **changed)]
    with pytest.raises(ValueError, match=f"different {name}: "):
        paired_differences(cells, "a", "b", metric="accuracy")


def test_methods_without_a_common_split_are_refused(make_cell):
    cells = [make_cell(method="a", fold=0), make_cell(method="b", fold=1)]
    for rival in ("b", "unknown"):
        with pytest.raises(
            ValueError, match=f"no split on which both 'a' and '{rival}"
        ):
            paired_differences(cells, "a", rival, metric="accuracy")
