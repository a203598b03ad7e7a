import numpy as np
import pytest

from lacunet.inspection import Explanation
from lacunet.report import write_explanation

EVIL = "<script>alert(1)</script>"


def make_explanation(n=40, *, exact=False):
    contributions = np.linspace(1, -0.5, n).round(3)
    contributions[-2:] = 0
    observed = np.arange(n) < n - 2
    return Explanation(
        (EVIL, *(f"column {k}" for k in range(1, n))),
        (EVIL, *np.arange(1.0, n - 1), None),
        observed,
        contributions,
        np.where(exact, 0.0, 0.01) * observed,
        2.0,
        2.0 + contributions.sum(),
        None,
        "regression",
        exact,
    )


@pytest.mark.parametrize("exact", [True, False])
def test_the_largest_are_drawn_and_all_are_listed(tmp_path, exact):
    found = make_explanation(exact=exact)
    text = write_explanation(found, tmp_path / "a.html").read_text("utf-8")
    assert text.count('<th scope="row">') == 40
    assert ">18 other columns<" in text
    assert ("two standard errors" in text) is not exact
    assert "without a contribution: column 39." in text
    assert "knows nothing of the values of column 38" in text
    assert "<script>alert" not in text
    again = write_explanation(found, tmp_path / "b.html").read_text("utf-8")
    assert text == again


def test_a_row_without_values_has_no_drawing(tmp_path):
    found = make_explanation(2)
    text = write_explanation(found, tmp_path / "a.html").read_text("utf-8")
    assert "<svg" not in text
    assert "0 observed values, 1 missing value" in text
