"""Fits over files are the fits in memory, but for sampling and rounding."""

import dataclasses
import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from sklearn.metrics import log_loss, r2_score
from tests.distributed.conftest import make_table, write_files

import lacunet
from lacunet import (
    IncompleteGaussianMixture,
    LacunetAutoencoder,
    LacunetClassifier,
    LacunetImputer,
    LacunetRegressor,
    distributed,
)
from lacunet.distributed import _fit, _journal
from lacunet.exceptions import LacunetError, TableError

FEATURES = [*"abcd", "count", "group", "flag", "day"]
NUMBERS = [*"abcd", "count"]


def small(kind=LacunetClassifier, **parameters):
    given = {"n_networks": 2, "max_epochs": 3, "hidden_layer_sizes": (16,)}
    return kind(random_state=0, **{**given, **parameters})


@pytest.fixture(scope="module")
def new():
    return make_table(seed=1)


@pytest.fixture(scope="module")
def fitted(files):
    return distributed.fit(small(), files, target="ill")


# --- the same estimators


def test_a_classifier_predicts_as_well_as_one_fitted_in_memory(table, files, new):
    parameters = {"max_epochs": 12, "hidden_layer_sizes": (32,)}
    losses = [
        log_loss(new["ill"], model.predict_proba(new[FEATURES]))
        for model in (
            distributed.fit(small(**parameters), files, target="ill"),
            small(**parameters).fit(table[FEATURES], table["ill"]),
        )
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.1)
    assert losses[0] < 0.5  # 0.69 without any column


def test_a_regressor_predicts_as_well_as_one_fitted_in_memory(table, new, tmp_path):
    folder = write_files(table.drop(columns="ill"), tmp_path)
    parameters = {"kind": LacunetRegressor, "max_epochs": 10}
    over_files = distributed.fit(small(**parameters), folder, target="number")
    in_memory = small(**parameters).fit(table[FEATURES], table["number"])
    scores = [
        r2_score(new["number"], model.predict(new[FEATURES]))
        for model in (over_files, in_memory)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    assert scores[0] > 0.5
    # The scale of the target is that of all rows, exactly.
    assert over_files._scale.mean == pytest.approx(in_memory._scale.mean, rel=1e-12)
    assert over_files._scale.std == pytest.approx(in_memory._scale.std, rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LacunetImputer(random_state=0),
        lambda: LacunetImputer(
            density=IncompleteGaussianMixture(3, covariance_type="factor"),
            random_state=0,
        ),
        lambda: LacunetAutoencoder(
            hidden_layer_sizes=(16, 4, 16), max_epochs=5, random_state=0
        ),
    ],
    ids=["imputer", "imputer with a mixture", "autoencoder"],
)
def test_what_fills_tables_fills_them_as_well(make, table, new, tmp_path):
    folder = write_files(table[FEATURES], tmp_path)
    hidden = np.random.RandomState(0).rand(*new[FEATURES].shape) < 0.1
    masked = new[FEATURES].mask(hidden)
    errors = []
    for model in (distributed.fit(make(), folder), make().fit(table[FEATURES])):
        filled = model.transform(masked)
        assert (filled.dtypes == masked.dtypes).all()
        assert not filled.isna().any().any()
        where = hidden[:, :5] & new[NUMBERS].notna().to_numpy()
        gaps = (filled[NUMBERS] - new[NUMBERS]).to_numpy()[where]
        errors.append(np.sqrt(np.square(gaps.astype(float)).mean()))
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


@pytest.mark.parametrize("covariance_type", ["diag", "factor", "full"])
def test_a_mixture_reaches_the_likelihood_of_one_in_memory(
    covariance_type, table, tmp_path
):
    # Far from zero: EM must not cancel digits.
    numbers = 1e7 + 1e3 * table[NUMBERS]
    folder = write_files(numbers, tmp_path)
    mixture = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, tol=1e-7, max_iter=2000, random_state=0
    )
    over_files = distributed.fit(mixture, folder)
    # From where EM has come, over the same rows in memory, it goes nowhere.
    again = lacunet.IncompleteGaussianMixture(
        2, covariance_type=covariance_type, tol=1e-7, max_iter=5, warm_start=True
    )
    vars(again).update({k: v for k, v in vars(mixture).items() if k.endswith("_")})
    score = over_files.score(numbers)
    assert again.fit(numbers).score(numbers) == pytest.approx(score, abs=1e-6)
    assert over_files.lower_bound_ == pytest.approx(score, abs=1e-5)
    assert over_files.feature_names_in_.tolist() == NUMBERS


def test_it_is_the_ordinary_estimator(files, fitted, new, tmp_path):
    model = fitted
    assert model.feature_names_in_.tolist() == FEATURES
    assert model.classes_.tolist() == ["no", "yes"]
    assert [epoch.epoch for epoch in model.history_] == [1, 2, 3]
    model.save(tmp_path / "model")
    loaded = lacunet.load(tmp_path / "model")
    expected = model.predict_proba(new[FEATURES])
    np.testing.assert_array_equal(loaded.predict_proba(new[FEATURES]), expected)
    again = distributed.fit(small(), ds.dataset(files), target="ill")
    np.testing.assert_array_equal(again.predict_proba(new[FEATURES]), expected)


def test_columns_are_known_as_in_memory(table, fitted):
    over_files = fitted._inputs
    in_memory = small().fit(table[FEATURES], table["ill"])._inputs
    for found, expected in zip(
        over_files.table.columns, in_memory.table.columns, strict=True
    ):
        assert found.categories == expected.categories
        assert dataclasses.replace(found, origin=None) == dataclasses.replace(
            expected, origin=None
        )
        if expected.origin is not None:
            assert np.datetime64(found.origin) == np.datetime64(expected.origin)
    assert over_files.marked.tolist() == in_memory.marked.tolist()
    values = in_memory.table.numbers_of(table[FEATURES])
    found, expected = (
        inputs.table.scaling.transform(values) for inputs in (over_files, in_memory)
    )
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_rare_categories_are_pooled_and_long_names_kept(tmp_path):
    rng = np.random.RandomState(0)
    names = np.array([f"name {k}" for k in range(40)])
    weights = 0.8 ** np.arange(40)
    table = pd.DataFrame(
        {
            "name": names[rng.choice(40, 2000, p=weights / weights.sum())],
            "x": rng.randn(2000),
        }
    )
    table["y"] = table["x"] > 0
    write_files(table, tmp_path)
    model = distributed.fit(small(max_categories=5), tmp_path, target="y")
    column = model._inputs.table.columns[0]
    expected = small(max_categories=5).fit(table[["name", "x"]], table["y"])
    assert column == expected._inputs.table.columns[0]
    assert model.classes_.tolist() == [False, True]


def test_rows_without_a_target_are_for_the_density_alone(table, tmp_path, new):
    rows = table.drop(columns="number").astype({"ill": object})
    rows.loc[rows.index % 3 == 0, "ill"] = None
    model = distributed.fit(small(), write_files(rows, tmp_path), target="ill")
    assert model.classes_.tolist() == ["no", "yes"]
    assert log_loss(new["ill"], model.predict_proba(new[FEATURES])) < 0.69


def test_class_weights_count(files, fitted, new):
    heavy = distributed.fit(
        small(class_weight={"no": 20.0, "yes": 1.0}), files, target="ill"
    )
    means = [m.predict_proba(new[FEATURES])[:, 0].mean() for m in (fitted, heavy)]
    assert means[1] > means[0] + 0.2


def test_a_table_of_copies_is_fitted_all_the_same(tmp_path):
    """Rows of two categories have few contents: folds are dealt by place."""
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"a": rng.choice([*"pq"], 3000), "b": rng.rand(3000) < 0.5})
    table["y"] = (table["a"] == "p") ^ (rng.rand(3000) < 0.1)
    write_files(table, tmp_path)
    model = distributed.fit(small(max_epochs=20), tmp_path, target="y")
    rows = pd.DataFrame({"a": [*"pq"], "b": [True, False]})
    np.testing.assert_allclose(
        model.predict_proba(rows)[:, 1], [0.9, 0.1], rtol=0, atol=0.05
    )


# --- what is refused


@pytest.mark.parametrize(
    ("estimator", "target", "error", "message"),
    [
        (small(), None, ValueError, "Got target=None for a LacunetClassifier, but "),
        (LacunetImputer(), "ill", ValueError, "expected None: it has no target"),
        (small(), "il", TableError, "Got target='il', but expected one of the col"),
        (small(LacunetRegressor), "ill", TableError, "of string, but expected num"),
        (small(time_limit=9.0), "ill", ValueError, "give max_epochs"),
        (small(warm_start=True), "ill", ValueError, "begin anew"),
        (
            small(density=IncompleteGaussianMixture(strategy="mean")),
            "ill",
            ValueError,
            "use 'em'",
        ),
        (IncompleteGaussianMixture(), None, ValueError, "columns that are no num"),
        (object(), None, TypeError, "Got a object, but expected an estimator of lac"),
        (small(n_networks=0), "ill", ValueError, "Got n_networks=0"),
    ],
)
def test_what_can_not_be_fitted_is_refused(estimator, target, error, message, files):
    with pytest.raises(error, match=message):
        distributed.fit(estimator, files, target=target)


def test_a_row_group_of_nothing_is_named_or_its_file_left_out(table, fitted, tmp_path):
    bad = table.drop(columns="number").head(400)
    bad.iloc[200:, :-1] = np.nan
    bad = bad.astype({"group": object})
    write_files(table.drop(columns="number"), tmp_path)
    bad.to_parquet(tmp_path / "part-9.parquet", index=False, row_group_size=200)
    with pytest.raises(TableError, match=r"part-9.parquet, row group 1, without a val"):
        distributed.fit(small(), tmp_path, target="ill")
    with pytest.warns(
        UserWarning, match=r"1 of 4 files: .*part-9.parquet, row group 1"
    ):
        left = distributed.fit(small(), tmp_path, target="ill", skip_bad_files=True)
    rows = table[FEATURES]
    np.testing.assert_array_equal(left.predict_proba(rows), fitted.predict_proba(rows))


@pytest.mark.parametrize(
    ("column", "message"),
    [("a", "contains infinity"), ("number", "the target has infinite values")],
)
def test_infinite_values_are_named_with_their_file(column, message, table, tmp_path):
    rows = table.drop(columns="ill")
    rows.loc[700, column] = np.inf
    write_files(rows, tmp_path)
    with pytest.raises(TableError, match=rf"part-1.parquet, row group 0, .*{message}"):
        distributed.fit(small(LacunetRegressor), tmp_path, target="number")


def test_rare_targets_are_enough_to_validate_on(table, tmp_path, monkeypatch):
    monkeypatch.setattr("lacunet.estimators._stream.SAMPLE_ROWS", 100)
    rows = table.drop(columns="number").astype({"ill": object})
    rows.loc[rows.index % 12 != 0, "ill"] = None
    model = distributed.fit(small(), write_files(rows, tmp_path), target="ill")
    assert np.isfinite(model.history_[-1].valid_loss)


def test_a_column_of_names_that_are_all_different_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr("lacunet.distributed._summary._LOG_CATEGORIES", 5)
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"name": [f"n{k}" for k in range(600)], "x": rng.randn(600)})
    table["y"] = table["x"] > 0
    write_files(table, tmp_path, n_files=1, row_group_size=600)
    with pytest.warns(UserWarning, match="'name' with so many different texts"):
        model = distributed.fit(small(), tmp_path, target="y")
    assert model.predict(table[["name", "x"]]).shape == (600,)


def test_a_corrupt_page_is_named_in_the_first_pass(table, tmp_path, monkeypatch):
    folder = write_files(table.drop(columns="number"), tmp_path)
    path = folder / "part-1.parquet"
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little") + 8
    data[4:-footer] = b"\xff" * (len(data) - footer - 4)
    path.write_bytes(data)
    monkeypatch.setattr(_fit.ParquetBlocks, "scan", None)  # it does not come to that
    with pytest.raises(TableError, match=r"part-1.parquet, row group 0, "):
        distributed.fit(small(), folder, target="ill")


# --- checkpoints


class Killed(BaseException):
    """What stands for SIGKILL in the process that is tested."""


@pytest.mark.parametrize("step", ["Columns", "Rows", "EM, iteration 2", "epoch 2"])
def test_a_fit_that_was_killed_goes_on_to_the_same_result(
    step, files, table, tmp_path, monkeypatch, fitted
):
    seen = []
    original = _fit.ParquetBlocks._map

    def counted(self, what, *arguments):
        seen.append(what)
        results = original(self, what, *arguments)
        yield next(results)
        if what.startswith(step):
            raise Killed
        yield from results

    def written(self, tensors, content):
        if step == "epoch 2" and len(content["history"]) == 2:
            raise Killed
        write(self, tensors, content)

    write = lacunet.estimators.CheckpointFile.write
    with monkeypatch.context() as patch:
        patch.setattr(_fit.ParquetBlocks, "_map", counted)
        patch.setattr(lacunet.estimators.CheckpointFile, "write", written)
        with pytest.raises(Killed):
            distributed.fit(small(), files, target="ill", checkpoint=tmp_path / "run")
        before = [*seen]
        seen.clear()
        step = "nothing more"
        model = distributed.fit(
            small(), files, target="ill", checkpoint=tmp_path / "run"
        )
    # What was finished is not done again.
    assert not set(seen) & set(before[:-1])
    found = model.predict_proba(table[FEATURES])
    np.testing.assert_array_equal(found, fitted.predict_proba(table[FEATURES]))


def test_a_mixture_without_a_seed_goes_on_from_its_own_start(table, tmp_path):
    folder = write_files(table[NUMBERS], tmp_path / "data")
    made = [
        distributed.fit(
            IncompleteGaussianMixture(3, tol=0.1),
            folder,
            checkpoint=tmp_path / "run",
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(made[0].means_, made[1].means_)
    assert made[0].random_state is None


def test_a_seed_that_was_drawn_is_kept(files, table, tmp_path):
    models = [
        distributed.fit(
            small().set_params(random_state=None),
            files,
            target="ill",
            checkpoint=tmp_path / "run",
        )
        for _ in range(2)
    ]
    first, second = (model.predict_proba(table[FEATURES]) for model in models)
    np.testing.assert_array_equal(first, second)


def test_checkpoints_of_others_are_refused(files, table, tmp_path):
    run = tmp_path / "run"
    distributed.fit(small(), files, target="ill", checkpoint=run)
    with pytest.raises(LacunetError, match="other parameters or other data"):
        distributed.fit(small(lr=0.1), files, target="ill", checkpoint=run)
    # As many rows, and bytes, of other numbers.
    rows = table.drop(columns="number").assign(a=-table["a"])
    other = write_files(rows, tmp_path / "other")
    with pytest.raises(LacunetError, match="other parameters or other data"):
        distributed.fit(small(), other, target="ill", checkpoint=run)
    (run / "summary.safetensors").write_bytes(b"nothing")
    with pytest.raises(LacunetError, match="summary.safetensors, which can't be read"):
        distributed.fit(small(), files, target="ill", checkpoint=run)
    with pytest.raises(LacunetError, match="a folder with other files"):
        distributed.fit(small(), files, target="ill", checkpoint=other)
    path = other / "part-0.parquet"
    with pytest.raises(LacunetError, match="a file, but expected a folder"):
        distributed.fit(small(), files, target="ill", checkpoint=path)


def test_what_a_killed_process_left_of_its_first_file_is_no_obstacle(files, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / ".owner.safetensors.lacunet-1-ff").write_bytes(b"half")
    distributed.fit(small(), files, target="ill", checkpoint=run)


def test_a_full_disk_leaves_no_half_checkpoint(files, tmp_path, monkeypatch):
    original = Path.write_bytes

    def full(self, data):
        if "scan" not in self.name:
            return original(self, data)
        original(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(LacunetError, match="scan.safetensors: the disk is full"):
            distributed.fit(small(), files, target="ill", checkpoint=tmp_path / "run")
    assert {path.stem for path in (tmp_path / "run").iterdir()} == {
        "owner",
        "seed",
        "summary",
    }


def test_a_checkpoint_brings_nothing_but_records_of_lacunet(tmp_path):
    packed = {"type": "subprocess:Popen", "fields": ["ls"]}
    with pytest.raises(LacunetError, match="expected lacunet's records"):
        _journal._unpack(packed, {})
    with pytest.raises(LacunetError, match="expected lacunet's records"):
        _journal._unpack({**packed, "type": "lacunet.cli:main"}, {})


# --- rows


def test_an_interrupt_stops_the_whole_fit(files, monkeypatch):
    views = []

    def interrupted(self, part, rows, generator):
        views.append(self.parts[part])
        raise KeyboardInterrupt

    monkeypatch.setattr(lacunet.estimators._fit.NetworkTask, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        distributed.fit(small(), files, target="ill")
    assert len(views) == 1


def test_progress_is_shown_where_it_is_asked_for(files, capsys, monkeypatch):
    monkeypatch.setattr("lacunet._progress._PRINTED", 0.0)
    distributed.fit(small(verbose=1), files, target="ill")
    shown = capsys.readouterr().err
    assert "Columns: 200 of 1,800 rows, " in shown
    assert "EM, iteration 2, log-likelihood -" in shown
    assert "rows/s, 1 worker\n" in shown
    assert "epoch 3" in shown


def test_held_out_rows_are_not_fitted(files, table):
    run = distributed.Run(small(), files, target="ill", hold_out=0.25, drop=["a"])
    run.fit()
    held_out = run.held_out.to_pandas()
    assert 380 < len(held_out) < 520
    assert run.estimator.feature_names_in_.tolist() == FEATURES[1:]
    kept = [
        batch.num_rows
        for group in run.reader.rows.groups
        for batch, _ in run.reader.batches(group)
    ]
    assert sum(kept) == len(table) - len(held_out)


def test_row_groups_may_be_held_out_whole(table, tmp_path):
    rows = table.drop(columns="number").head(120)
    write_files(rows, tmp_path, n_files=1, row_group_size=2)
    run = distributed.Run(small(), tmp_path, target="ill", hold_out=0.5)
    run.fit()
    assert 40 < run.held_out.num_rows < 80
    assert 0 in [
        sum(len(t) for t, _ in run.reader.batches(g)) for g in run.reader.rows.groups
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "None"])
def test_a_fit_under_torchrun_is_that_of_one_process(
    seed, files, table, fitted, tmp_path
):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "import torch\n"
        "torch.set_num_threads(1)\n"
        "from lacunet import LacunetClassifier, distributed\n"
        "model = LacunetClassifier(n_networks=2, max_epochs=3,\n"
        f"                          hidden_layer_sizes=(16,), random_state={seed})\n"
        "distributed.fit(model, sys.argv[1], target='ill', checkpoint=sys.argv[2])\n"
        "model.save(sys.argv[3] + os.environ['RANK'])\n"
    )
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    found = []
    for number in (1, 2):  # the second time from the checkpoint
        output = tmp_path / f"model{number}-"
        arguments = [program, files, tmp_path / "run", output]
        subprocess.run([*run, *arguments], check=True, timeout=120)
        models = [lacunet.load(f"{output}{rank}") for rank in range(2)]
        found += [model.predict_proba(table[FEATURES]) for model in models]
    for each in found[1:]:  # other ranks, and once more
        np.testing.assert_array_equal(each, found[0])
    if seed == "0":
        expected = fitted.predict_proba(table[FEATURES])
        np.testing.assert_allclose(found[0], expected, atol=1e-5)
