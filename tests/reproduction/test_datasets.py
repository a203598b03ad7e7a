"""The registry, and files from a folder, from a server on this machine and nowhere."""

import gzip
import hashlib
import os
import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from reproduction import datasets
from reproduction.datasets import (
    describe_dataset,
    list_datasets,
    load_dataset,
    read_images,
    read_registry,
    read_table,
)

from lacunet.exceptions import LacunetError

NAN = np.nan
PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"
with_data = pytest.mark.skipif(
    not os.environ.get("LACUNET_DATA"),
    reason="LACUNET_DATA names no folder with the data sets",
)
# Rows, attributes and missing per cent, as the paper's tables 3 and 5 have them.
PAPER = {
    "bands": (539, 19, 5.38),
    "kidney_disease": (400, 24, 10.54),
    "hepatitis": (155, 19, 5.67),
    "horse": (368, 22, 23.80),
    "mammographics": (961, 5, 3.37),
    "pima": (768, 8, 12.24),
    "winconsin": (699, 9, 0.25),
    "australian": (690, 14, 0.0),
    "bank": (1372, 4, 0.0),
    "breast_cancer": (699, 8, 0.0),
    "crashes": (540, 20, 0.0),
    "diabetes": (768, 8, 0.0),
    "fourclass": (862, 2, 0.0),
    "heart": (270, 13, 0.0),
    "liver_disorders": (345, 6, 0.0),
}

# --- the registry


def test_registry_agrees_with_itself():
    paths = []
    for name, entry in read_registry().items():
        counts = entry["counts"]
        assert ("loader" in entry) == (not entry["files"])
        assert list(counts["classes"]) == sorted(counts["classes"])
        assert len(set(entry["target_names"])) == len(counts["classes"])
        assert sum(counts["classes"].values()) in (0, counts["rows"])
        assert len(set(entry.get("feature_names", ()))) in (0, counts["features"])
        assert entry["description"]
        assert entry["licence"]
        for file in entry["files"]:
            paths.append(file["path"])
            assert file["path"].startswith(f"{name}/")
            assert re.fullmatch("[0-9a-f]{64}", file["sha256"])
            # A commit in the address: what is there can not change.
            assert re.match(r"https://\S+/[0-9a-f]{40}/\S+$", file["url"])
            assert file["url"].split("/")[5][:7] in entry["source"]
    assert len(set(paths)) == len(paths)


def test_counts_are_those_of_the_paper():
    described = {name: describe_dataset(name) for name in PAPER}
    assert {
        name: (each.rows, each.columns, round(100 * each.missing, 2))
        for name, each in described.items()
    } == PAPER
    assert {each.classes for each in described.values()} == {2}


def test_page_lists_all_sets_with_their_counts():
    rows = re.findall(
        r"^\| `(\w+)` \| (\d.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert [name for name, _ in rows] == list_datasets()
    for name, cells in rows:
        known = describe_dataset(name)
        missing = f"{100 * known.missing:.2f}" if known.missing else "–"
        expected = [known.rows, known.columns, known.classes or "–", missing]
        assert [cell.strip() for cell in cells.split("|")][:4] == list(
            map(str, expected)
        )


@pytest.mark.parametrize("name", list_datasets()[17:])
def test_sets_of_scikit_learn_need_no_files(name, tmp_path, monkeypatch):
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path / "nothing"))
    data, known = load_dataset(name), describe_dataset(name)
    assert known.here
    assert data.X.shape == (known.rows, known.columns) == (len(data.y), known.columns)
    assert data.X.dtype == np.float64
    assert len(set(data.feature_names)) == known.columns
    if known.classes:
        sizes = read_registry()[name]["counts"]["classes"].values()
        assert np.bincount(data.y).tolist() == list(sizes)
    else:
        assert data.y.dtype == np.float64
        ages = data.X[:, data.feature_names.index("age")]
        assert (ages.min(), ages.max()) == (19, 79)  # not scaled


def test_unknown_name_is_refused_with_the_nearest():
    for use in (load_dataset, describe_dataset):
        with pytest.raises(ValueError, match=r"Got name='pimma'.*mean 'pima'") as error:
            use("pimma")
        assert ", ".join(list_datasets()) in str(error.value)
    with pytest.raises(ValueError, match="Got name=3, but expected one of .*sion.$"):
        load_dataset(3)


# --- from bytes to arrays


def test_numbers_words_and_missing_cells():
    # A label of kidney_disease has a tab behind it.
    files = [b"7, c,a\n?,?,b\n-1.5,b,a\n1e3,c ,b\n", b"-1\t\n1\n1\n-1\n"]
    X, labels, names, groups = read_table(files, missing=["?"])
    np.testing.assert_array_equal(
        X, [[7, 1, 0], [NAN, NAN, 1], [-1.5, 0, 0], [1e3, 1, 1]]
    )
    assert labels.tolist() == ["-1", "1", "1", "-1"]
    assert names == ("x0", "x1", "x2")
    assert groups is None


def test_header_label_dropped_and_group_columns():
    text = "id,A,B,y\r\nX2.V1.7,1,2,5\r\n\r\nX1.V14,3,4,1\r\n"
    X, labels, names, groups = read_table(
        [text.encode()], header=True, label_column=3, drop_columns=[0], group_column=0
    )
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    assert labels.tolist() == ["5", "1"]
    assert names == ("A", "B")
    assert groups.tolist() == ["V1.7", "V14"]


def test_blanks_separate_and_ragged_lines_are_refused():
    X, labels, *_ = read_table(
        [b" 1  2.5 0\n\n   \n3 4\t1 \n"], delimiter=None, label_column=2
    )
    np.testing.assert_array_equal(X, [[1, 2.5], [3, 4]])
    assert labels.tolist() == ["0", "1"]
    with pytest.raises(ValueError, match="zip"):
        read_table([b"1,2,3\n4,5\n"], label_column=0)


def idx(values):
    array = np.asarray(values, dtype=np.uint8)
    sizes = np.array(array.shape, ">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def test_images_are_rows_of_pixels_in_the_order_of_the_files():
    train, test = [[[0, 1, 2], [3, 4, 255]]], [[[9, 8, 7], [6, 5, 4]]]
    X, labels, names = read_images([idx(train), idx([5]), idx(test), idx([7])])
    assert X.dtype == np.uint8
    np.testing.assert_array_equal(X, [[0, 1, 2, 3, 4, 255], [9, 8, 7, 6, 5, 4]])
    assert labels.tolist() == ["5", "7"]
    assert names[2:4] == ("pixel_0_2", "pixel_1_0")
    with pytest.raises(ValueError, match="expected idx of bytes"):
        read_images([gzip.compress(b"\x00\x00\x0d\x01" + bytes(8))])


# --- files: a set made by hand, in a folder or on a server

TEXT = b"1,?,no\n2,3,yes\n4,5,no\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.content
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        is_cut = len(self.server.asked) <= self.server.n_cut
        self.wfile.write(content[: len(content) // 2] if is_cut else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """Serve TEXT at any address; the first ``n_cut`` answers end halfway."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.content, server.status, server.n_cut, server.asked = TEXT, 200, 0, []
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def register(monkeypatch):
    """Return a function that makes a set at a port of this machine the only one."""

    def register(port=1, **changes):
        file = {
            "path": "tiny/a b.csv",
            "url": f"http://127.0.0.1:{port}/a%20b.csv",
            "sha256": hashlib.sha256(TEXT).hexdigest(),
            "n_bytes": len(TEXT),
        }
        entry = {
            "description": "Made by hand.",
            "source": "here",
            "licence": "CC0",
            "files": [file],
            "layout": {"missing": ["?"], "label_column": 2},
            "counts": {
                "rows": 3,
                "features": 2,
                "missing": 1,
                "classes": {"no": 2, "yes": 1},
            },
            "target_names": ["nein", "ja"],
            "n_train": 2,
        } | changes
        monkeypatch.setattr(datasets, "read_registry", lambda: {"tiny": entry})
        return file

    return register


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Name a cache, and no folder with the files."""
    monkeypatch.setenv("LACUNET_DATA", "")
    monkeypatch.setenv("LACUNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(datasets, "RETRIES", 0)
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Name a folder that has the file; the network must not be touched."""

    def refuse(*_):
        pytest.fail("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("LACUNET_DATA", "~/data")
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    (tmp_path / "data" / "tiny" / "a b.csv").write_bytes(TEXT)
    return tmp_path / "data"


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_set_of_a_folder_is_loaded_without_network(folder, register):
    register(feature_names=["width", "height"])
    assert describe_dataset("tiny").here
    data = load_dataset("tiny")
    np.testing.assert_array_equal(data.X, [[1, NAN], [2, 3], [4, 5]])
    assert data.y.tolist() == [0, 1, 0]
    assert data.y.dtype.kind == "i"
    assert (data.n_train, data.groups, data.licence) == (2, None, "CC0")
    assert data.feature_names == ("width", "height")
    assert data.target_names == ("nein", "ja")
    X, y = load_dataset("tiny", return_X_y=True)
    np.testing.assert_array_equal(X, data.X)
    X[:], y[:] = -7, -7
    assert not (load_dataset("tiny").X == -7).any()


def test_missing_file_is_named_and_not_downloaded(folder, register):
    file = register()
    (folder / "tiny" / "a b.csv").unlink()
    assert not describe_dataset("tiny").here
    with pytest.raises(LacunetError, match="No such file") as caught:
        load_dataset("tiny")
    for fact in (str(folder / "tiny" / "a b.csv"), "LACUNET_DATA", file["url"]):
        assert fact in str(caught.value)


@pytest.mark.parametrize("content", [TEXT[:-1], TEXT + b"\n"], ids=["cut", "longer"])
def test_other_bytes_in_a_folder_are_refused(folder, register, content):
    file = register()
    (folder / "tiny" / "a b.csv").write_bytes(content)
    with pytest.raises(LacunetError, match="sha256 .* but expected") as caught:
        load_dataset("tiny")
    assert file["sha256"] in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 4},
        {"features": 3},
        {"missing": 0},
        {"classes": {"no": 1, "yes": 2}},
    ],
    ids=str,
)
def test_other_counts_are_refused(folder, register, wrong):
    counts = {"rows": 3, "features": 2, "missing": 1, "classes": {"no": 2, "yes": 1}}
    register(counts=counts | wrong)
    with pytest.raises(LacunetError, match=r"Got {'rows': 3.*in tiny, but expected"):
        load_dataset("tiny")


def test_file_is_downloaded_once(server, cache, register, capsys, monkeypatch):
    register(server.server_port)
    assert not describe_dataset("tiny").here
    assert load_dataset("tiny").X.shape == (3, 2)
    assert "100%" in capsys.readouterr().err
    load_dataset("tiny")
    assert server.asked == ["/a%20b.csv"]
    assert files_in(cache) == [cache / "tiny" / "a b.csv"]
    assert describe_dataset("tiny").files == (str(cache / "tiny" / "a b.csv"),)
    monkeypatch.setenv("LACUNET_DATA", str(cache))  # which is such a folder
    assert load_dataset("tiny").X.shape == (3, 2)


def test_other_bytes_are_not_kept(server, cache, register):
    server.content = TEXT + b"4,5,6\n"
    file = register(server.server_port)
    with pytest.raises(LacunetError, match="other bytes") as caught:
        load_dataset("tiny")
    for fact in (file["url"], file["sha256"], "LACUNET_DATA"):
        assert fact in str(caught.value)
    assert files_in(cache) == []


def test_cut_download_leaves_nothing_and_is_tried_again(
    server, cache, register, monkeypatch
):
    server.n_cut = 1
    register(server.server_port)
    with pytest.raises(LacunetError, match="Got no file from"):
        load_dataset("tiny")
    assert files_in(cache) == []
    server.asked.clear()
    monkeypatch.setattr(datasets, "RETRIES", 1)
    assert load_dataset("tiny").X.shape == (3, 2)
    assert len(server.asked) == 2


def test_damaged_file_in_the_cache_is_replaced(server, cache, register):
    register(server.server_port)
    (cache / "tiny").mkdir(parents=True)
    (cache / "tiny" / "a b.csv").write_bytes(TEXT[:-1])
    assert load_dataset("tiny").X.shape == (3, 2)
    assert (cache / "tiny" / "a b.csv").read_bytes() == TEXT


def test_without_a_server_address_cache_and_variable_are_named(cache, register):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        file = register(free.getsockname()[1])
        with pytest.raises(LacunetError, match="Go online") as caught:
            load_dataset("tiny")
    for fact in (file["url"], str(cache), "LACUNET_DATA", "tiny/a b.csv"):
        assert fact in str(caught.value)


# --- the real files


@with_data
@pytest.mark.parametrize("name", list_datasets()[:17])
def test_real_set_is_what_is_known(name):
    data = load_dataset(name)  # which checks hashes and counts
    assert data.X.shape == (len(data.y), len(data.feature_names))
    assert data.X.dtype == (np.uint8 if name == "mnist" else np.float64)
    assert not np.isinf(data.X).any()
    assert set(data.y) == set(range(len(data.target_names)))
    assert data.X.flags.writeable
    if told := re.search(r"(\d+) of the (?:\d+ )?rows are dupl", data.description):
        rows = np.column_stack([np.nan_to_num(data.X, nan=-1e9), data.y])
        assert len(rows) - len(np.unique(rows, axis=0)) == int(told[1])
    if "Sorted by class" in data.description:
        assert (np.diff(data.y) != 0).sum() == len(data.target_names) - 1


@with_data
def test_pima_is_diabetes_without_the_zeros_of_its_first_five_columns():
    pima, diabetes = load_dataset("pima"), load_dataset("diabetes")
    expected = diabetes.X.copy()
    expected[:, :5][expected[:, :5] == 0] = np.nan
    np.testing.assert_array_equal(pima.X, expected)
    np.testing.assert_array_equal(pima.y, diabetes.y)


@with_data
def test_groups_of_esr_are_recordings_of_one_class():
    data = load_dataset("esr")
    names, places, sizes = np.unique(
        data.groups, return_inverse=True, return_counts=True
    )
    assert len(names) == 500
    assert set(sizes) == {23}
    assert len(set(zip(places, data.y, strict=True))) == 500


@with_data
def test_mnist_has_the_training_images_first():
    data = load_dataset("mnist")
    assert data.n_train == 60000
    assert data.y[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.y[60000:60005].tolist() == [7, 2, 1, 0, 4]
    assert data.X.max() == 255


@pytest.mark.network
@pytest.mark.parametrize("name", list_datasets()[:17])
def test_every_address_has_the_known_bytes(name, tmp_path, monkeypatch):
    monkeypatch.delenv("LACUNET_DATA", raising=False)
    monkeypatch.setenv("LACUNET_CACHE", str(tmp_path))
    assert load_dataset(name).name == name
