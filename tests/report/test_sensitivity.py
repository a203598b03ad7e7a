from dataclasses import replace

import pytest

from lacunet.inspection import ColumnSensitivity, pool
from lacunet.report import write_sensitivity

EVIL = "<script>alert(1)</script>"


def column(name, observed, means=(1.0, 2.0, 3.0)):
    pooled = tuple(pool([mean, mean + 0.1], [0.04, 0.04]) for mean in means)
    return ColumnSensitivity(name, 20, observed, (-1.0, 0.0, 1.0), pooled)


def test_each_column_has_a_card_with_its_sentence_and_a_row(tmp_path):
    columns = [column(EVIL, 2.0), column("calm", 2.0, (2.0, 2.0, 2.0))]
    text = write_sensitivity(columns, tmp_path / "page.html").read_text("utf-8")
    assert text.count("<article class") == text.count('role="img"') == 2
    assert text.count('<th scope="row">') == 2
    assert text.count('class="card worse"') == 1
    assert "1 of 2 columns: the mean may be another" in text
    assert "outside of the 95% interval of the mean of all from a shift of -1" in text
    assert "inside of the 95% interval of the mean of all with every shift" in text
    assert "<script>alert" not in text


def test_means_that_lack_bounded_values_may_be_outside_for_that_reason(tmp_path):
    reason = "may be outside for that reason alone"
    for n_bounded in (0, 9):
        columns = [replace(column("lead", 5.0), n_bounded=n_bounded)]
        path = write_sensitivity(columns, tmp_path / "page.html", force=True)
        assert (reason in path.read_text("utf-8")) == (n_bounded > 0)


def test_a_page_without_columns_says_so(tmp_path):
    text = write_sensitivity([], tmp_path / "page.html").read_text("utf-8")
    assert "No column of numbers has missing values." in text
    with pytest.raises(FileExistsError):
        write_sensitivity([], tmp_path / "page.html")
