"""Rows that are not in memory: a sample and sums of them, and batches to train on.

A table comes in blocks (row groups of files), which may be read anywhere and in any
order. Whatever is added up is added in the order of the blocks, and whatever is drawn
is drawn by the place or the content of a row: no result depends on who read the block.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from torch import Tensor, nn

from lacunet.density import (
    IncompleteGaussianMixture,
    add_expectations,
    expect_codes,
    expect_rows,
    refine,
    refine_mixed,
)
from lacunet.estimators._columns import Column, as_table
from lacunet.estimators._encoding import FOR_NETWORKS, InputEncoder, TargetScale
from lacunet.estimators._fit import (
    Batch,
    Folds,
    NetworkTask,
    Samples,
    See,
    Setting,
    Whole,
    make_optimiser,
    make_plan,
    make_task,
    undisturbed,
)
from lacunet.estimators._sampling import hash_rows
from lacunet.estimators._saving import CheckpointFile
from lacunet.estimators._views import Histogram, View, ViewEnsemble
from lacunet.training import Epoch, Tensors, train

# Rows of the sample: EM starts from it, and networks are validated on it.
SAMPLE_ROWS = 20_000
# Streams that each batch is made of, also the largest team; and the numbers that all of
# them hold to shuffle.
LANES = 8
_SHUFFLED_NUMBERS = 2**22
# Numbers of a block that is read as a whole, and not as its rows are needed.
_READ_AT_ONCE = 2**21
# A table with fewer distinct rows than this fraction of the sample is one of copies.
_FEW_DISTINCT = 1 / 8


def fit_blocks(estimator: Any, blocks: "Blocks") -> None:
    """Fit an estimator, or a mixture, to a table in blocks."""
    if not isinstance(estimator, IncompleteGaussianMixture):
        estimator._fit_blocks(blocks)
        return
    summary = blocks.summarise(1)
    others = [column.name for column in summary.columns if column.kind != "number"]
    if others:
        msg = (
            f"Got columns that are no numbers: {others[:5]}, but expected numbers for "
            f"an IncompleteGaussianMixture. Leave them out, or use LacunetImputer."
        )
        raise ValueError(msg)
    n_columns = len(summary.columns)
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    seed = blocks.begin(seed)
    coder = RowCoder(PlainRows(n_columns), TargetCode(), 1, seed, dtype=np.float64)
    scan = blocks.scan(coder, [])
    given = estimator.random_state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start
        estimator.set_params(random_state=seed).fit(scan.sample.x)
    estimator.set_params(random_state=given)
    estimator.feature_names_in_ = np.array(blocks.names, dtype=object)
    counts = np.maximum((~np.isnan(scan.sample.x)).sum(0), 1)
    shift = np.nansum(scan.sample.x, axis=0) / counts
    relative = partial(np.add, -shift)
    refine_over(blocks, coder, scan.n_rows, estimator, None, relative, shift)


def refine_over(
    blocks: "Blocks",
    coder: "RowCoder",
    n_rows: int,
    mixture: IncompleteGaussianMixture,
    components: Any,
    see: See,
    shift: np.ndarray | None = None,
) -> Any:
    """Go on with EM over all blocks, as ``Refine`` does."""

    def expect(components: Any) -> tuple[float, Any]:
        return blocks.expect(coder, mixture, components, see)

    if components is None:
        shift = np.zeros(mixture.means_.shape[1]) if shift is None else shift
        refine(mixture, expect, n_rows, shift, blocks.watch)
        return None
    found = refine_mixed(mixture, components, expect, n_rows, stop=blocks.watch)
    return found.components


class Blocks(Protocol):
    """A table in blocks, and who reads them."""

    @property
    def names(self) -> list[str]:
        """Names of the columns, without the target."""

    def summarise(self, max_categories: int) -> "TableSummary":
        """Describe all columns."""

    def begin(self, seed: int) -> int:
        """Return the seed of this fit: the one given, unless it has begun before."""

    def watch(self, log_likelihood: float) -> bool:
        """Show how far EM is, after an iteration; return whether it shall end."""

    def scan(self, coder: "RowCoder", grids: list[np.ndarray]) -> "Scan":
        """Add up and sample the encoded rows, see ``scan_rows``."""

    def expect(self, coder: "RowCoder", *arguments: Any) -> tuple[float, Any]:
        """Add up ``expect_block`` over all blocks."""

    def train(self, coder: "RowCoder", jobs: Sequence["ViewJob"]) -> list["Trained"]:
        """Train views, see ``train_view``."""


class TableSummary(NamedTuple):
    """What one pass over all rows has found."""

    n_rows: int
    columns: list[Column]
    constant: list[str | int]  # columns with one value only
    # Rows of numbers whose quantiles are those of the columns; NaN if there are none.
    values: np.ndarray
    low: np.ndarray  # (numeric columns,), in their own units
    high: np.ndarray
    whole: np.ndarray  # whether all are whole numbers, bool
    counts: dict[Any, int]  # of the classes of the target
    scale: TargetScale | None  # of a numeric target


class TargetCode(NamedTuple):
    """How the cells of the target become what networks learn."""

    classes: tuple[Any, ...] | None = None
    factors: np.ndarray | None = None  # weights of the classes
    scale: TargetScale | None = None  # if there are no classes; else it is the row

    def encode(self, cells: Any, x: np.ndarray) -> np.ndarray:
        """Return indices of classes (-1 where missing), or (rows, outputs)."""
        if self.classes is not None:
            codes = {label: code for code, label in enumerate(self.classes)}
            return np.fromiter((codes.get(c, -1) for c in cells), np.int64, len(cells))
        if self.scale is None:
            return x
        numbers = np.array([np.nan if c is None else c for c in cells], dtype=float)
        return self.scale.forward(numbers[:, None]).astype(np.float32)


@dataclass(frozen=True)
class Coded:
    """Encoded rows of one piece of a block."""

    x: np.ndarray  # (rows, width), float32
    targets: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    keys: np.ndarray  # random numbers of their own, uint64

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.x)

    def __getitem__(self, rows: Any) -> "Coded":
        """Return some rows."""
        return Coded(*(array[rows] for array in vars(self).values()))

    @property
    def labelled(self) -> np.ndarray:
        """Which rows have a target."""
        if self.targets.dtype.kind == "i":
            return np.asarray(self.targets >= 0)
        return np.asarray(~np.isnan(self.targets).all(1))

    @staticmethod
    def join(pieces: Sequence["Coded"]) -> "Coded":
        """Put pieces together."""
        if len(pieces) == 1:
            return pieces[0]
        parts = zip(*(vars(piece).values() for piece in pieces), strict=True)
        return Coded(*(np.concatenate(part) for part in parts))


def scramble(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as if drawn at random, one for each number of 64 bits."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


class PlainRows:
    """What stands for an encoder where rows are numbers, and stay what they are."""

    def __init__(self, n_columns: int) -> None:
        self.table, self.width = self, n_columns
        self.starts = np.arange(n_columns)

    def transform(self, X: Any, *, farthest: float) -> np.ndarray:
        """Return the numbers of a table."""
        table = as_table(X)
        array = table if isinstance(table, np.ndarray) else table.to_numpy()
        return np.asarray(array, dtype=np.float64)


@dataclass(frozen=True)
class RowCoder:
    """From cells of a table to what networks take, the same in each process."""

    inputs: InputEncoder | PlainRows
    target: TargetCode
    n_folds: int
    seed: int
    farthest: float = FOR_NETWORKS
    by_place: bool = False  # whether copies of a row may be in several folds
    dtype: type = np.float32

    def encode(self, table: Any) -> np.ndarray:
        """Return encoded rows without targets."""
        encoded = self.inputs.transform(table, farthest=self.farthest)
        return encoded.astype(self.dtype)

    def code(self, table: Any, cells: Any, places: np.ndarray) -> Coded:
        """Encode rows and their targets; ``places`` are numbers of the rows, uint64."""
        x = self.encode(table)
        targets = self.target.encode(cells, x)
        content = hash_rows(x[:, : self.inputs.table.width], targets)
        keys = scramble(content + scramble(places + np.uint64(self.seed)))
        # Copies of a row are in one fold: none is validated on what it has learned.
        folds = self.fold(keys if self.by_place else content)
        weights = np.ones(len(x), dtype=np.float32)
        if self.target.factors is not None:
            weights = self.target.factors[targets].astype(np.float32)
        return Coded(x, targets, weights, folds, keys)

    def fold(self, numbers: np.ndarray) -> np.ndarray:
        """Return the fold of each of some random numbers."""
        folds = scramble(numbers ^ np.uint64(self.seed)) % np.uint64(self.n_folds)
        return folds.astype(np.int64)


# --- the second pass: sums and a sample


@dataclass(frozen=True)
class Scan:
    """Sums over encoded rows, and a sample of them."""

    n_labelled: np.ndarray  # (blocks,)
    fold_weights: np.ndarray  # (folds,)
    n_rows: int
    n_cells: int  # observed ones, of rows with a target
    most_missing: int  # cells of a row
    histograms: list[Histogram]
    # The rows of the smallest keys, of those with a target and of the others.
    sample: Coded
    unlabelled: Coded

    def __add__(self, other: "Scan") -> "Scan":
        """Add up the scans of two blocks, in their order."""
        pairs = zip(self.histograms, other.histograms, strict=True)
        return Scan(
            np.concatenate([self.n_labelled, other.n_labelled]),
            self.fold_weights + other.fold_weights,
            self.n_rows + other.n_rows,
            self.n_cells + other.n_cells,
            max(self.most_missing, other.most_missing),
            [one + two for one, two in pairs],
            _smallest(Coded.join([self.sample, other.sample])),
            _smallest(Coded.join([self.unlabelled, other.unlabelled])),
        )

    @property
    def whole(self) -> Whole:
        """What training has to know of all rows."""
        n_rows = int(self.n_labelled.sum())
        cells = self.n_cells / max(1, n_rows)
        return Whole(n_rows, torch.from_numpy(self.fold_weights), cells)


def _smallest(rows: Coded) -> Coded:
    order = np.argsort(rows.keys, kind="stable")[:SAMPLE_ROWS]
    return rows[order]


def scan_rows(
    pieces: Iterator[Coded], coder: RowCoder, grids: Sequence[np.ndarray]
) -> Scan:
    """Add up and sample the rows of one block; ``grids`` are those of histograms."""
    scans = []
    for rows in pieces:
        labelled = rows[rows.labelled]
        outputs = Samples(labelled.x, labelled.targets, labelled.weights).outputs
        if coder.target.classes is not None:  # some may be in other blocks only
            n_more = len(coder.target.classes) - outputs.shape[1]
            outputs = np.pad(outputs, ((0, 0), (0, n_more)))
        starts = coder.inputs.table.starts
        missing = np.isnan(rows.x[:, starts])
        scans.append(
            Scan(
                np.array([len(labelled)]),
                np.bincount(labelled.folds, labelled.weights, minlength=coder.n_folds),
                len(rows),
                int((~np.isnan(labelled.x[:, starts])).sum()),
                int(missing.sum(1).max(initial=0)),
                [
                    Histogram.of_column(column, outputs, grid)
                    for column, grid in zip(labelled.x.T, grids, strict=False)
                ],
                _smallest(labelled),
                _smallest(rows[~rows.labelled]),
            )
        )
    total = reduce(add, scans)
    return replace(total, n_labelled=total.n_labelled.sum(keepdims=True))


def is_of_copies(sample: Coded, width: int) -> bool:
    """Return whether rows are the same by the dozen, as in a table of a few categories.

    Then each row has a fold of its own.
    """
    n_distinct = len(np.unique(hash_rows(sample.x[:, :width], sample.targets)))
    return n_distinct < _FEW_DISTINCT * len(sample)


# --- EM


def expect_block(
    pieces: Iterator[np.ndarray],
    mixture: IncompleteGaussianMixture,
    components: Any,
    see: See,
) -> tuple[float, Any] | None:
    """Return the log likelihood of a block, and the sums of its rows' statistics.

    None if there are no rows.

    ``see`` is what the density sees of encoded rows: all of them if not given, or codes
    of categories, which are whole numbers.
    """
    found = []
    for piece in pieces:
        x = piece.astype(np.float64)
        seen = x if see is None else see(x)
        if seen.dtype.kind == "i":
            found.append(expect_codes(seen, components))
        else:
            found.append(expect_rows(mixture, seen, components))
    return reduce(add_expectations, found) if found else None


# --- training


@dataclass(frozen=True)
class ViewJob:
    """All that it takes to train one view, in any process."""

    view: View
    setting: Setting
    sample: Samples
    folds: Folds  # of the sample
    whole: Whole
    n_labelled: np.ndarray  # rows of each block
    seed: int


class Trained(NamedTuple):
    """The tensors of a trained view, and the history of its training."""

    tensors: Tensors
    history: list[Epoch]


def join_histories(histories: Sequence[list[Epoch]]) -> list[Epoch]:
    """Return the means over the views that were still in training, epoch by epoch."""
    joined = []
    for index in range(max(map(len, histories))):
        records = [history[index] for history in histories if index < len(history)]
        losses = np.array([(r.train_loss, r.valid_loss) for r in records]).mean(0)
        best = any(record.best for record in records)
        seconds = max(record.seconds for record in records)
        joined.append(
            Epoch(index + 1, float(losses[0]), float(losses[1]), best, seconds)
        )
    return joined


class Team(Protocol):
    """Processes that train one view together, each on rows of its own."""

    rank: int
    size: int

    def sum_(self, tensor: Tensor) -> None:
        """Sum a tensor over all of them, in place."""


class _TeamTask:
    """A task of a team: the first of it validates."""

    def __init__(self, task: NetworkTask, team: Team) -> None:
        self.parts, self.n_rows, self.loss = task.parts, task.n_rows, task.loss
        self._task, self._team = task, team

    def validate(self, part: int) -> float:
        """Return the loss of the mean prediction for validation rows."""
        loss = self._task.validate(part) if self._team.rank == 0 else 0.0
        shared = torch.tensor([loss], dtype=torch.float64)
        self._team.sum_(shared)
        return float(shared)


class _Unwritten:
    """A checkpoint that another process writes."""

    def __init__(self, store: CheckpointFile) -> None:
        self.read = store.read

    def write(self, tensors: Tensors, content: dict[str, Any]) -> None:
        """Write nothing."""


def train_view(
    team: Team,
    job: ViewJob,
    read: Callable[[int], Iterator[Coded]],
    store: CheckpointFile | None,
    *,
    verbose: bool = False,
) -> Trained:
    """Train the networks of a view on the rows of all blocks.

    Each member of a team trains on lanes of its own, and gradients are summed: the
    result is that of one process, but for rounding. ``read`` returns the rows of the
    block with a number.
    """
    setting, whole = job.setting, job.whole
    module = ViewEnsemble([job.view])

    def batches(size: int, generator: torch.Generator) -> "LaneBatches":
        seed = int(torch.randint(2**62, (1,), generator=generator))
        return LaneBatches(job, read, size, seed, team.rank, team.size)

    def sum_up(part: nn.Module, loss: Tensor) -> None:
        shared = [loss.detach().view(1)]
        for parameter in part.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:  # where nothing is missing, gamma has none
                    parameter.grad = torch.zeros_like(parameter)
                shared.append(parameter.grad.view(-1))
        if team.size == 1:
            return
        together = torch.cat(shared)
        team.sum_(together)
        sizes = [len(tensor) for tensor in shared]
        for tensor, total in zip(shared, together.split(sizes), strict=True):
            tensor.copy_(total)

    with undisturbed():
        sample = job.sample
        task = make_task(module, setting, sample, job.folds, None, sample.x[:0], whole)
        skip = setting.body.skip
        history = train(
            task if team.size == 1 else _TeamTask(task, team),
            [make_optimiser(setting.parameters, job.view)],
            make_plan(setting.parameters, whole.n_rows, anneal=skip),
            torch.Generator().manual_seed(job.seed),
            store=store if store is None or team.rank == 0 else _Unwritten(store),
            batches=batches,
            sum_up=sum_up,
            interruptible=False,
            verbose=verbose and team.rank == 0,
        )
    return Trained(job.view.state_dict(), history)


class LaneBatches:
    """The batches of an epoch, each made of rows from several lanes.

    Blocks are dealt to lanes at random, and each lane reads its blocks one after the
    other, shuffles them in a buffer, and gives the same fraction of its rows to each
    batch. What is drawn for the rows of a lane is drawn from a generator of its own: a
    process may take some of the lanes, and others the others.
    """

    def __init__(
        self,
        job: ViewJob,
        read: Callable[[int], Iterator[Coded]],
        size: int,
        seed: int,
        rank: int,
        n_ranks: int,
    ) -> None:
        self._job, self._read, self._seed = job, read, seed
        n_blocks = int(np.count_nonzero(job.n_labelled))
        self._n_lanes = min(LANES, n_blocks)
        self._mine = range(rank, self._n_lanes, n_ranks)
        self._n_steps = -(-int(job.n_labelled.sum()) // size)

    def __len__(self) -> int:
        """Return the number of batches."""
        return self._n_steps

    @cached_property
    def _lanes(self) -> list[list[int]]:
        """The blocks of each lane, about as many rows in each."""
        sizes = self._job.n_labelled
        lanes: list[list[int]] = [[] for _ in range(self._n_lanes)]
        filled = np.zeros(self._n_lanes)
        for block in np.random.RandomState(self._seed % 2**32).permutation(len(sizes)):
            if sizes[block]:
                least = int(filled.argmin())
                lanes[least].append(int(block))
                filled[least] += sizes[block]
        return lanes

    def __iter__(self) -> Iterator[Batch]:
        """Read the blocks, and yield this process's rows of each batch."""
        device = self._job.setting.device
        sizes = [int(self._job.n_labelled[lane].sum()) for lane in self._lanes]
        ends = [np.arange(1, self._n_steps + 1) * n // self._n_steps for n in sizes]
        counts = np.diff(np.stack(ends), axis=1, prepend=0)  # (lanes, steps)
        sources = {lane: self._rows_of(lane) for lane in self._mine}
        generators = {
            lane: torch.Generator().manual_seed(int(scramble(self._key(lane))[0]))
            for lane in self._mine
        }
        held: dict[int, list[Coded]] = {lane: [] for lane in self._mine}
        for of_step in counts.T:
            pieces = []
            for lane in self._mine:
                rows, n = held[lane], int(of_step[lane])
                while not rows or sum(map(len, rows)) < n:
                    rows.append(next(sources[lane]))
                joined = Coded.join(rows)
                pieces.append(joined[:n])
                held[lane] = [joined[n:]]
            batch, sample = Coded.join(pieces), self._job.sample
            draws = [(generators[lane], int(of_step[lane])) for lane in self._mine]
            chosen, folds = Samples(batch.x, batch.targets, batch.weights), batch.folds
            if not len(batch):  # a row all the same, so that there are gradients
                chosen, folds = sample[np.zeros(1, dtype=int)], np.zeros(1, dtype=int)
                draws = [(torch.Generator(), 1)]
            yield Batch(
                *chosen.to_rows(device),
                torch.as_tensor(folds, device=device),
                draws,
                int(of_step.sum()),
                factor=float(len(batch) > 0),
            )

    def _key(self, lane: int) -> np.ndarray:
        return np.array([self._seed + lane], dtype=np.uint64)

    def _rows_of(self, lane: int) -> Iterator[Coded]:
        """Yield the labelled rows of a lane, shuffled in a buffer."""
        random_state = np.random.RandomState(int(scramble(~self._key(lane))[0]) % 2**32)
        width = self._job.sample.x.shape[1]
        most = max(1, _SHUFFLED_NUMBERS // (self._n_lanes * width))
        pool: list[Coded] = []

        def mix(least: int) -> Coded:
            rows = Coded.join(pool)
            rows = rows[random_state.permutation(len(rows))]
            pool[:] = [rows[:least]]
            return rows[least:]

        for block in self._lanes[lane]:
            pieces: Iterable[Coded] = (
                rows[rows.labelled] for rows in self._read(block)
            )
            if self._job.n_labelled[block] * width <= _READ_AT_ONCE:
                pieces = list(pieces)  # a file that is open takes more memory
            for rows in pieces:
                pool.append(rows)
                if sum(map(len, pool)) >= most:
                    yield mix(most // 2)
        if pool:
            yield mix(0)
