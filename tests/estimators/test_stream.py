"""Rows that are not in memory: no sum, sample or batch depends on the reader."""

import threading
from functools import reduce
from operator import add

import numpy as np
import pytest
import torch

from lacunet import IncompleteGaussianMixture
from lacunet.density import (
    add_expectations,
    expect_codes,
    expect_rows,
    fit_mixed,
    refine_mixed,
)
from lacunet.estimators import _fit, _stream
from lacunet.estimators._encoding import InputEncoder, TableEncoder
from lacunet.estimators._fit import CLASSIFICATION, Folds, Samples, Setting, build_views
from lacunet.estimators._stream import (
    LaneBatches,
    RowCoder,
    TargetCode,
    ViewJob,
    scan_rows,
    train_view,
)
from lacunet.estimators._views import (
    BodyShape,
    Histogram,
    find_bins,
    find_codes,
    find_grid,
    put_in_bins,
)


def make_rows(n_rows=1000, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.randn(n_rows, 3)
    y = np.where(x[:, 0] + x[:, 1] > 0, "yes", "no").astype(object)
    x[rng.rand(n_rows, 3) < 0.2] = np.nan
    y[rng.rand(n_rows) < 0.1] = None
    return x, y


@pytest.fixture(scope="module")
def blocks():
    """Eleven blocks of rows of different sizes, each with its targets and places."""
    x, y = make_rows()
    ends = np.cumsum([150, 40, 90, 90, 200, 10, 70, 120, 60, 100])
    places = np.arange(len(x), dtype=np.uint64)
    return list(
        zip(np.split(x, ends), np.split(y, ends), np.split(places, ends), strict=True)
    )


@pytest.fixture(scope="module")
def coder(blocks):
    encoder = TableEncoder().fit(np.concatenate([x for x, _, _ in blocks]))
    inputs = InputEncoder(encoder, np.empty(0, dtype=int))
    return RowCoder(inputs, TargetCode(("no", "yes"), np.array([1.5, 0.5])), 5, seed=3)


@pytest.fixture(scope="module")
def grids():
    return [np.linspace(-2, 2, 40)] * 3


def scan_of(blocks, coder, grids):
    scans = (scan_rows(iter([coder.code(*block)]), coder, grids) for block in blocks)
    return reduce(add, scans)


# --- sums and samples


def test_a_scan_of_blocks_is_that_of_all_rows(blocks, coder, grids):
    found = scan_of(blocks, coder, grids)
    whole = [np.concatenate(part) for part in zip(*blocks, strict=True)]
    expected = scan_of([whole], coder, grids)
    assert found.n_labelled.tolist() == [
        sum(cell is not None for cell in y) for _, y, _ in blocks
    ]
    assert found.n_rows == 1000
    assert found.most_missing == expected.most_missing == 3
    has_target = np.array([cell is not None for cell in whole[1]])
    assert found.n_cells == np.count_nonzero(~np.isnan(whole[0][has_target]))
    assert len(found.sample) + len(found.unlabelled) == 1000
    assert found.sample.labelled.all()
    assert not found.unlabelled.labelled.any()
    np.testing.assert_allclose(found.fold_weights, expected.fold_weights)
    for one, two in zip(found.histograms, expected.histograms, strict=True):
        for ours, theirs in zip(one, two, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_array_equal(found.sample.keys, expected.sample.keys)


def test_a_sample_is_drawn_by_content_and_place(blocks, coder, grids, monkeypatch):
    monkeypatch.setattr(_stream, "SAMPLE_ROWS", 300)
    found = scan_of(blocks, coder, grids).sample
    again = scan_of(blocks[::-1], coder, grids).sample
    np.testing.assert_array_equal(found.x, again.x)
    assert len(found) == 300
    # From all blocks alike.
    places = np.concatenate([places for _, _, places in blocks])
    keys = np.concatenate([coder.code(*block).keys for block in blocks])
    chosen = np.isin(keys, found.keys)
    assert np.abs(places[chosen].mean() - 500) < 60


def test_copies_of_a_row_are_in_one_fold_unless_there_are_dozens(coder):
    x = np.repeat([[0.5, np.nan, 1.0], [0.5, 2.0, 1.0]], 400, axis=0)
    y, places = np.array(["yes"] * 800), np.arange(800, dtype=np.uint64)
    rows = coder.code(x, y, places)
    assert len({*rows.folds[:400]}) == len({*rows.folds[400:]}) == 1
    assert _stream.is_of_copies(rows, 3)
    counts = np.bincount(coder.fold(rows.keys), minlength=5)
    assert counts.min() > 120


def test_folds_are_even_and_do_not_depend_on_the_place(blocks, coder):
    rows = [coder.code(*block) for block in blocks]
    counts = np.bincount(np.concatenate([block.folds for block in rows]))
    assert len(counts) == 5
    assert counts.min() > 150
    x, y, places = blocks[0]
    again = coder.code(x, y, places + np.uint64(7))
    np.testing.assert_array_equal(again.folds, rows[0].folds)
    assert not (again.keys == rows[0].keys).any()


# --- EM over blocks


@pytest.fixture(scope="module")
def mixed_rows():
    rng = np.random.RandomState(0)
    x = rng.randn(400, 3)
    one_hot = np.eye(3)[rng.randint(3, size=400)]
    x[rng.rand(400, 3) < 0.2] = np.nan
    one_hot[rng.rand(400) < 0.2] = np.nan
    return np.hstack([x, one_hot])


@pytest.mark.parametrize("covariance_type", ["diag", "factor", "full"])
def test_em_over_blocks_is_em_over_all_rows(mixed_rows, covariance_type):
    mixture = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, max_iter=7, tol=0.0, random_state=0
    )
    with pytest.warns(UserWarning, match="did not converge"):
        start = fit_mixed(mixture, mixed_rows, (3,)).components
    mixture.set_params(max_iter=4)

    def expect(components):
        found = [
            expect_rows(mixture, b, components) for b in mixed_rows.reshape(8, 50, 6)
        ]
        return reduce(add_expectations, found)

    over_blocks = refine_mixed(mixture, start, expect, 400)
    at_once = refine_mixed(
        mixture, start, lambda c: expect_rows(mixture, mixed_rows, c), 400
    )
    np.testing.assert_allclose(
        over_blocks.lower_bounds, at_once.lower_bounds, rtol=1e-12
    )
    assert over_blocks.lower_bounds == sorted(over_blocks.lower_bounds)
    for one, two in zip(
        over_blocks.components.gaussian, at_once.components.gaussian, strict=True
    ):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-11)


def test_codes_of_bins_are_worth_the_one_hot_rows(mixed_rows):
    numbers = mixed_rows[:, :3]
    targets = np.zeros((400, 1))
    bins = find_bins(
        [
            Histogram.of_column(column, targets, find_grid(column[~np.isnan(column)]))
            for column in numbers.T
        ]
    )
    one_hot = put_in_bins(mixed_rows, bins)
    codes = find_codes(mixed_rows, bins, (3,))
    padded = np.hstack([np.nan_to_num(one_hot), np.zeros((400, 1))])
    for column in codes.T:
        missing = column == one_hot.shape[1]
        assert (padded[np.arange(400), column] == ~missing).all()
    assert ((codes == one_hot.shape[1]).sum(1) > 0).tolist() == (
        np.isnan(mixed_rows).any(1).tolist()
    )
    sizes = (*(len(b.centres) for b in bins), 3)
    mixture = IncompleteGaussianMixture(3, random_state=0)
    components = fit_mixed(mixture, one_hot, sizes).components
    expected = expect_rows(mixture, one_hot, components)
    found = expect_codes(codes, components)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    torch.testing.assert_close(found[1].counts, expected[1].counts)
    torch.testing.assert_close(found[1].gaussian, expected[1].gaussian)


# --- batches and teams


def make_job(blocks, coder, grids, **parameters):
    """A view of numbers as they are, ready to be trained on the blocks."""
    given = {
        "density": IncompleteGaussianMixture(2, random_state=0, tol=1e-2),
        "n_networks": 2,
        "gamma": 0.01,
        "train_density": True,
        "density_loss_weight": 0.1,
        "mask_augmentation": 0.2,
        "batch_size": 180,
        "max_epochs": 1,
        "time_limit": None,
        "lr": 0.01,
        "weight_decay": 0.01,
        **parameters,
    }
    scan = scan_of(blocks, coder, grids)
    labelled = scan.sample
    samples = Samples(labelled.x, labelled.targets, labelled.weights)
    body = BodyShape((8,), 2, dropout=0.3, skip=True)
    sources = coder.inputs.sources
    device = torch.device("cpu")
    setting = Setting(given, (), 3, sources, body, CLASSIFICATION, device, seed=0)
    (view,) = build_views(setting, samples, samples.x[:0], _fit.Watch())
    folds = Folds(torch.as_tensor(labelled.folds), coder.n_folds)
    whole, n_labelled = scan.whole, scan.n_labelled
    return ViewJob(view, setting, samples, folds, whole, n_labelled, seed=1)


class Alone:
    rank, size = 0, 1


class Member:
    """One thread of several that sum up together."""

    def __init__(self, rank, size, barrier, shared):
        self.rank, self.size = rank, size
        self.barrier, self.shared = barrier, shared
        self.n_numbers = 0

    def sum_(self, tensor):
        self.shared[self.rank] = tensor.clone()
        self.barrier.wait(30)
        total = sum(self.shared[rank] for rank in range(self.size))
        self.barrier.wait(30)
        tensor.copy_(total)
        self.n_numbers += tensor.numel()


def batches_of(job, blocks, coder, rank=0, size=1, seed=11):
    def read(number):
        return iter([coder.code(*block) for block in halves(blocks[number])])

    return LaneBatches(job, read, 180, seed, rank, size)


def halves(block):
    middle = len(block[0]) // 2
    return [tuple(part[:middle] for part in block), tuple(p[middle:] for p in block)]


def test_an_epoch_has_each_labelled_row_once_in_even_batches(blocks, coder, grids):
    job = make_job(blocks, coder, grids)
    epoch = batches_of(job, blocks, coder)
    batches = list(epoch)
    n_labelled = int(job.n_labelled.sum())
    assert len(epoch) == len(batches) == -(-n_labelled // 180)
    sizes = [len(batch) for batch in batches]
    assert sum(sizes) == n_labelled
    assert max(sizes) - min(sizes) <= 8  # of eight lanes, one row each
    seen = np.concatenate([batch.x.numpy() for batch in batches])
    labelled = [coder.code(*block) for block in blocks]
    expected = np.concatenate([rows.x[rows.labelled] for rows in labelled])
    np.testing.assert_array_equal(
        seen[np.lexsort(np.nan_to_num(seen, nan=9).T)],
        expected[np.lexsort(np.nan_to_num(expected, nan=9).T)],
    )
    other = next(iter(batches_of(job, blocks, coder, seed=12)))
    assert not torch.equal(other.x.nan_to_num(), batches[0].x.nan_to_num())


@pytest.mark.parametrize("size", [2, 3, 4])
def test_members_of_a_team_have_the_rows_of_one_process(size, blocks, coder, grids):
    job = make_job(blocks, coder, grids)
    alone = list(batches_of(job, blocks, coder))
    teams = [list(batches_of(job, blocks, coder, r, size)) for r in range(size)]
    for batch, *members in zip(alone, *teams, strict=True):
        assert {len(member) for member in members} == {len(batch)}
        rows = torch.cat([member.x for member in members]).nan_to_num(nan=9.0)
        whole = batch.x.nan_to_num(nan=9.0)
        assert sorted(rows.tolist()) == sorted(whole.tolist())


@pytest.fixture(scope="module")
def uneven():
    """Eight blocks, one of two rows: its lane has none in most of the batches."""
    x, y = make_rows(950)
    y[y == None] = "no"  # noqa: E711
    ends = np.cumsum([140, 130, 130, 130, 140, 148, 130])
    places = np.arange(len(x), dtype=np.uint64)
    return list(
        zip(np.split(x, ends), np.split(y, ends), np.split(places, ends), strict=True)
    )


@pytest.mark.parametrize(
    ("dtype", "tol", "size", "which"),
    [
        ("float32", 1e-6, 2, "blocks"),
        ("float32", 1e-6, 4, "blocks"),
        ("float64", 1e-12, 4, "blocks"),
        ("float64", 1e-12, 8, "uneven"),
    ],
)
def test_five_steps_of_a_team_are_those_of_one_process(
    dtype, tol, size, which, coder, grids, monkeypatch, request
):
    """Dropout and hidden cells included: they are drawn by lanes."""
    monkeypatch.setattr(_fit, "DTYPE", getattr(torch, dtype))
    blocks = request.getfixturevalue(which)

    def read(number):
        return iter([coder.code(*blocks[number])])

    def job():
        made = make_job(blocks, coder, grids)
        made.view.to(getattr(torch, dtype))
        return made

    expected = train_view(Alone(), job(), read, None)
    assert len(batches_of(job(), blocks, coder)) in (5, 6)
    barrier, shared, found = threading.Barrier(size), {}, {}

    def run(rank):
        team = Member(rank, size, barrier, shared)
        found[rank] = train_view(team, job(), read, None)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    start = job().view.state_dict()
    moved = 0.0
    for rank in range(size):
        for name, tensor in expected.tensors.items():
            torch.testing.assert_close(
                found[rank].tensors[name], tensor, rtol=0, atol=tol
            )
            moved = max(moved, float((tensor - start[name]).abs().max()))
        epoch, same = found[rank].history[0], expected.history[0]
        assert epoch.train_loss == pytest.approx(same.train_loss, rel=1e-6)
        assert epoch.valid_loss == pytest.approx(same.valid_loss, rel=1e-6)
    assert moved > 0.01
