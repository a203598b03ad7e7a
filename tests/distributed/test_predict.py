import errno
import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small

from lacunet import distributed
from lacunet.exceptions import TableError
from lacunet.tables import ModelTable

N_ROWS = 60  # 25 + 5 + 30


@pytest.fixture(scope="module")
def frame():
    return small.frame(N_ROWS, seed=1)[0]


@pytest.fixture
def data(tmp_path, frame):
    """Return a folder with three files, in which columns are in another order."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    frame[:25].to_parquet(folder / "a.parquet", row_group_size=10)
    shuffled = frame[25:30][frame.columns[::-1]].assign(unknown="x")
    shuffled.to_parquet(folder / "b.pq", index=False)
    frame[30:].to_parquet(folder / "sub/a.parquet", index=False)
    return folder


def read(folder):
    """Return all files of a folder as one frame, in the order of their paths."""
    names = ("a.parquet", "b.pq", "sub/a.parquet")
    frames = [pq.read_table(folder / name).to_pandas() for name in names]
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize("as_path", [False, True])
def test_classes_and_probabilities_are_those_of_the_model(
    data, tmp_path, frame, as_path
):
    model = small.fitted("classifier", small.frame)
    given = model
    if as_path:
        given = tmp_path / "model"
        model.save(given)
    n_rows = distributed.predict(given, f"{data}/**/*.p*q*", tmp_path / "out")
    found = read(tmp_path / "out")
    assert n_rows == len(found) == N_ROWS
    probabilities = model.predict_proba(frame)
    columns = [f"probability_{each}" for each in model.classes_]
    np.testing.assert_allclose(found[columns], probabilities, atol=1e-5)
    sure = abs(probabilities[:, 0] - 0.5) > 1e-4
    assert list(found.prediction[sure]) == list(model.predict(frame)[sure])
    assert list(found.columns) == ["prediction", *columns]


def test_numbers_are_those_of_the_model(data, tmp_path, frame):
    model = small.fitted("regressor", small.frame)
    distributed.predict(model, data, tmp_path / "out")
    expected = model.predict(frame)
    np.testing.assert_allclose(read(tmp_path / "out").prediction, expected, atol=1e-5)


@pytest.mark.parametrize("name", ["imputer", "autoencoder"])
def test_tables_are_filled_in_their_types(data, tmp_path, frame, name):
    model = small.fitted(name, small.frame)
    distributed.predict(model, data, tmp_path / "out")
    filled = read(tmp_path / "out")
    assert not filled[frame.columns].isna().to_numpy().any()
    known = frame.notna().to_numpy()
    observed = frame.reset_index(drop=True)
    for index, column in enumerate(frame.columns):
        here = known[:, index]
        assert list(filled[column][here]) == list(observed[column][here])
    expected = model.transform(frame)
    np.testing.assert_allclose(filled["number"], expected["number"], rtol=1e-4)
    for path in ("a.parquet", "b.pq"):
        before, after = (pq.read_schema(x / path) for x in (data, tmp_path / "out"))
        assert after.equals(before)
    assert list(filled["unknown"].dropna()) == ["x"] * 5


def test_codes_of_missing_values_come_with_the_model(tmp_path):
    model = small.imputer().fit(pd.DataFrame({"age": [40.0, 41, 42, np.nan]}))
    model.save(tmp_path / "model")
    record = ModelTable(missing=("-999",)).to_text()
    (tmp_path / "model" / ModelTable.FILE_NAME).write_text(record)
    pq.write_table(pa.table({"age": [40.0, -999.0]}), tmp_path / "new.parquet")
    distributed.predict(tmp_path / "model", tmp_path / "new.parquet", tmp_path / "out")
    found = pq.read_table(tmp_path / "out/new.parquet")["age"].to_pylist()
    assert 40 <= found[1] <= 42


def test_lacking_columns_are_named_before_anything_is_written(data, tmp_path, frame):
    model = small.fitted("classifier", small.frame)
    for path in ("a.parquet", "b.pq", "sub/a.parquet"):
        pq.write_table(pq.read_table(data / path).drop(["day", "whole"]), data / path)
    message = "without column 'whole', 'day', .* Set missing_columns='use'"
    with pytest.raises(TableError, match=message):
        distributed.predict(model, data, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    lenient = pickle.loads(pickle.dumps(model)).set_params(missing_columns="use")
    distributed.predict(lenient, data, tmp_path / "out")
    expected = lenient.predict_proba(frame.drop(columns=["day", "whole"]))
    found = read(tmp_path / "out").iloc[:, 1:]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    pq.write_table(pa.table({"other": [1]}), tmp_path / "other.parquet")
    with pytest.raises(TableError, match="without column 'number', .* and 2 more"):
        distributed.predict(lenient, tmp_path / "other.parquet", tmp_path / "out2")


def test_files_of_another_run_are_replaced_with_force_alone(data, tmp_path):
    model, out = small.fitted("regressor", small.frame), tmp_path / "out"
    out.mkdir()
    (out / "a.parquet").write_text("old")
    (out / "other.parquet").write_text("other")
    with pytest.raises(FileExistsError, match="which has files.*force=True"):
        distributed.predict(model, data, out)
    assert distributed.predict(model, data, out, force=True) == N_ROWS
    assert len(read(out)) == N_ROWS
    assert (out / "other.parquet").read_text() == "other"
    names = sorted(str(x.relative_to(out)) for x in out.rglob("*") if x.is_file())
    assert names == ["a.parquet", "b.pq", "other.parquet", "sub/a.parquet"]
    with pytest.raises(FileExistsError, match="of the data is"):
        distributed.predict(model, data, data, force=True)
    with pytest.raises(NotADirectoryError, match=r"a file, but expected a folder"):
        distributed.predict(model, data, data / "a.parquet")


def _spoil_pages(path):
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(
        b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:]
    )


def _put_infinity(path):
    table = pq.read_table(path)
    infinite = pa.array([np.inf] * len(table))
    index = table.schema.get_field_index("number")
    pq.write_table(table.set_column(index, "number", infinite), path)


@pytest.mark.parametrize(
    ("spoil", "message", "n_written"),
    [
        (_spoil_pages, "b.pq, row group 0, which can't be read", 1),
        (_put_infinity, "b.pq, which can't be predicted .*inf", 1),
        (lambda path: path.write_text("text"), "b.pq, which can't be read", 0),
    ],
    ids=["pages", "infinity", "text"],
)
def test_bad_files_are_named_or_left_out(data, tmp_path, spoil, message, n_written):
    model, out = small.fitted("classifier", small.frame), tmp_path / "out"
    spoil(data / "b.pq")
    with pytest.raises(TableError, match=message) as caught:
        distributed.predict(model, data, out)
    written = sorted(x.name for x in out.rglob("*") if x.is_file())
    assert written == ["a.parquet"][:n_written]
    assert ("1 of 3 files were written" in str(caught.value)) == bool(n_written)
    with pytest.warns(UserWarning, match=f"Left out 1 of 3 files: .*{message}"):
        n_rows = distributed.predict(model, data, out, skip_bad_files=True, force=True)
    assert n_rows == N_ROWS - 5
    assert sorted(x.name for x in out.rglob("*") if x.is_file()) == ["a.parquet"] * 2


def test_a_long_list_of_bad_files_is_cut(data, tmp_path):
    for number in range(13):
        (data / f"bad{number:02}.parquet").write_text("text")
    model = small.fitted("regressor", small.frame)
    with pytest.warns(UserWarning, match=r"13 of 16 files: .*bad09.*; and 3 more\.$"):
        distributed.predict(model, data, tmp_path / "out", skip_bad_files=True)


def test_a_full_disk_is_named_and_leaves_no_half_file(data, tmp_path, monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    model = small.fitted("regressor", small.frame)
    with pytest.raises(
        OSError, match=r"Could not write .*a.parquet.*: the disk is full"
    ):
        distributed.predict(model, data, tmp_path / "out")
    assert not [x for x in (tmp_path / "out").rglob("*") if x.is_file()]


def test_unseen_missing_values_do_not_warn_and_the_model_is_as_it_was(data, tmp_path):
    model = pickle.loads(pickle.dumps(small.fitted("classifier", small.frame)))
    for path in ("a.parquet", "b.pq", "sub/a.parquet"):
        table = pq.read_table(data / path)
        index = table.schema.get_field_index("flag")
        nothing = pa.nulls(len(table), pa.bool_())
        pq.write_table(table.set_column(index, "flag", nothing), data / path)
    assert distributed.predict(model, data, tmp_path / "out") == N_ROWS
    assert model.on_unseen_missing == "warn"


@pytest.mark.parametrize("model", [3, small.classifier(), np.ones(3)])
def test_what_is_no_fitted_estimator_is_refused(data, tmp_path, model):
    with pytest.raises(
        (TypeError, ValueError), match="expected an estimator|not fitted"
    ):
        distributed.predict(model, data, tmp_path / "out")


def test_files_elsewhere(tmp_path, frame):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://new/a.parquet", "wb") as stream:
        frame.to_parquet(stream)
    model = small.fitted("regressor", small.frame)
    assert distributed.predict(model, "memory://new", tmp_path / "out") == N_ROWS
    found = pq.read_table(tmp_path / "out/a.parquet")["prediction"].to_numpy()
    np.testing.assert_allclose(found, model.predict(frame), atol=1e-5)
