"""The registry agrees with itself, and the page about it with the registry."""

import re
from pathlib import Path

import pytest
from reproduction.datasets import list_datasets, load_dataset
from reproduction.datasets._bundled import BUNDLED
from reproduction.datasets._registry import read_registry

PAGE = Path(__file__).parents[3] / "docs" / "datasets.md"
ENTRIES = read_registry()


@pytest.fixture(params=ENTRIES)
def entry(request):
    return ENTRIES[request.param]


def test_seventeen_sets_come_as_files():
    assert len(ENTRIES) == 17
    assert not set(ENTRIES) & set(BUNDLED)


def test_files_have_an_address_a_hash_and_a_place_of_their_own(entry):
    for file in entry.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.n_bytes > 0
        assert file.path.startswith(f"{entry.name}/")
        # A commit in the address: what is there can not change.
        assert re.match(r"https://\S+/[0-9a-f]{40}/\S+$", file.url)
    paths = [file.path for other in ENTRIES.values() for file in other.files]
    assert len(set(paths)) == len(paths)


def test_names_and_counts_fit_together(entry):
    counts = entry.counts
    assert sum(counts.classes.values()) == counts.rows
    assert len(entry.target_names) == len(counts.classes)
    assert len(set(entry.target_names)) == len(entry.target_names)
    assert len(set(entry.feature_names)) in (0, counts.features)


def test_labels_are_in_the_order_in_which_they_are_numbered(entry):
    assert list(entry.counts.classes) == sorted(entry.counts.classes)


def test_what_the_set_is_stands_in_words(entry):
    assert 1 <= len(re.findall(r"[.?](?: |$)", entry.description)) <= 4
    assert entry.files[0].url.split("/")[5][:7] in entry.source
    assert entry.licence


def table_of_page():
    """Cells of the page's rows that begin with the name of a set."""
    rows = re.findall(
        r"^\| `(\w+)` \| (\d.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def expected_cells(name):
    if name in ENTRIES:
        counts = ENTRIES[name].counts
        rows, features, classes = counts.rows, counts.features, len(counts.classes)
        share = counts.missing / (rows * features)
    else:
        data = load_dataset(name)
        (rows, features), classes, share = data.X.shape, len(data.target_names), 0
    missing = f"{100 * share:.2f}" if share else "–"
    return [f"{rows}", f"{features}", f"{classes or '–'}", missing]


def test_the_page_lists_all_sets_with_their_counts():
    table = table_of_page()
    assert list(table) == list_datasets()
    for name, cells in table.items():
        assert cells[:4] == expected_cells(name), name
