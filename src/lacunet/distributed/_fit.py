"""Fits to Parquet files of any size, in this process or by many workers."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import is_classifier, is_regressor

from lacunet._progress import ProgressLine, clear_line
from lacunet._text import list_names, show_count
from lacunet.density import IncompleteGaussianMixture, add_expectations
from lacunet.distributed._journal import Journal
from lacunet.distributed._parquet import BadFileError, ParquetRows, RowGroup
from lacunet.distributed._summary import Summary, summarise_rows
from lacunet.distributed._workers import Team, Workers, open_workers, will_be_local
from lacunet.estimators import (
    LANES,
    CheckpointFile,
    Coded,
    RowCoder,
    Scan,
    TableSummary,
    Trained,
    ViewJob,
    check_parameters,
    expect_block,
    fit_blocks,
    name_owner,
    pack_parameters,
    read_history,
    scan_rows,
    scramble,
    train_view,
)
from lacunet.exceptions import TableError

Fitted = TypeVar("Fitted")
# Rows that are drawn of those held out, and of the others; of these, also cells.
_MOST_HELD_OUT = 20_000
_MOST_SAMPLED, _MOST_CELLS = 100_000, 2**24


def fit(
    estimator: Fitted,
    data: Any,
    *,
    target: str | None = None,
    workers: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    ray_address: str | None = None,
    skip_bad_files: bool = False,
) -> Fitted:
    """Fit an estimator to Parquet files, which may be larger than memory.

    Three passes go over the files, row group by row group. The first finds categories,
    quantiles and missing values of each column. The second sums up the target over 256
    quantile bins of each number, from which the bins of the networks are grown, and
    takes a sample of 20,000 rows. EM starts from the sample and goes on over all rows,
    until it has converged; networks are trained on all rows, shuffled in a buffer over
    eight row groups at a time, and validated on rows of the sample, which are chosen by
    a hash of their content.

    Results do not depend on the number of workers, but for rounding: those of EM are
    the same bit by bit, if this process has one thread, as workers have.

    Parameters
    ----------
    estimator : LacunetClassifier, LacunetRegressor, LacunetRBFClassifier, \
LacunetAutoencoder, LacunetImputer or IncompleteGaussianMixture
        With the parameters that you want. It is fitted itself.
    data : path, sequence of paths, or pyarrow.dataset.Dataset
        Parquet files, folders or patterns such as ``"data/*.parquet"``.
    target : str, default=None
        The column to predict. Rows without it are for the density alone. Not for an
        imputer, an autoencoder or a mixture, which have no target.
    workers : int, default=0
        Processes of Ray; 0 to work in this process, without Ray (or, if started by
        torchrun, in all of its processes).
    checkpoint : str or PathLike, default=None
        Folder for what was found so far. A fit that was killed, started again with the
        same folder, goes on from there to the same result. On a cluster all machines
        must reach it.
    ray_address : str, default=None
        Address of a Ray cluster that is running. A local one is started, and stopped in
        the end, if not given.
    skip_bad_files : bool, default=False
        Whether files that can't be read, or have other columns, are left out, with a
        warning that lists them; else they are an error.

    Returns
    -------
    estimator
        The same, fitted: it predicts, fills and is saved as after its own ``fit``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lacunet import LacunetRegressor, distributed
    >>> rng = np.random.RandomState(0)
    >>> table = pd.DataFrame(rng.randn(500, 3), columns=["a", "b", "c"])
    >>> table["y"] = table["a"] + table["b"]
    >>> table = table.mask(rng.rand(500, 4) < 0.1)
    >>> model = LacunetRegressor(n_networks=2, max_epochs=10, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/part-0.parquet")
    ...     model = distributed.fit(model, folder, target="y")
    >>> bool(model.predict(pd.DataFrame({"a": [1.0], "b": [1.0], "c": [None]})) > 0)
    True
    """
    run = Run(
        estimator,
        data,
        target=target,
        workers=workers,
        checkpoint=checkpoint,
        ray_address=ray_address,
        skip_bad_files=skip_bad_files,
    )
    run.fit()
    return estimator


class Run:
    """A fit to Parquet files, and rows that were held out of it.

    Parameters are those of ``fit``, where ``data`` may also be a ``ParquetRows``, and:

    Parameters
    ----------
    hold_out : float, default=0.0
        Fraction of the rows that are left out, by a hash of their places.
    drop : sequence of str, default=()
        Columns that are not used.

    Attributes
    ----------
    reader : Reader
        Of the files, without those that were left out.
    summary : Summary or None
        What there is in the columns of the rows that were not held out.
    held_out, sample : pyarrow.Table or None
        At most 20,000 rows with a target of those that were held out, and at most
        100,000 of the others; drawn at random, if some were held out.
    """

    def __init__(
        self,
        estimator: Any,
        data: Any,
        *,
        target: str | None,
        workers: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        ray_address: str | None = None,
        skip_bad_files: bool = False,
        hold_out: float = 0.0,
        drop: Sequence[str] = (),
    ) -> None:
        _check_estimator(estimator, target)
        rows = data
        if not isinstance(data, ParquetRows):
            rows = ParquetRows.open(data, skip_bad_files=skip_bad_files)
        self.estimator = estimator
        self.reader = Reader.of_target(rows, target, estimator, drop, hold_out)
        self.summary: Summary | None = None
        self.held_out: pa.Table | None = None
        self.sample: pa.Table | None = None
        self._workers, self._address = workers, ray_address
        # A worker may be in another folder.
        self._checkpoint = None if checkpoint is None else Path(checkpoint).absolute()
        self._skip = skip_bad_files

    def fit(self) -> None:
        """Fit the estimator."""
        estimator, folder = self.estimator, self._checkpoint
        with ExitStack() as stack:
            if folder is None and self._workers and will_be_local(self._address):
                # For a worker that is killed: its training goes on from there.
                folder = Path(stack.enter_context(TemporaryDirectory())) / "run"
            journal = Journal(folder, self._owner())  # refused before Ray starts
            pool = stack.enter_context(
                open_workers(self._workers, address=self._address)
            )
            if pool.rank:
                journal = Journal(folder, self._owner(), writes=False)
            # None goes on before all have seen what is there.
            all(pool.map(bool, [True] * pool.n))
            journal.remember("owner", self._owner)
            blocks = ParquetBlocks(
                self.reader,
                pool,
                journal,
                verbose=bool(estimator.verbose) and not pool.rank,
                skip_bad_files=self._skip,
                is_remote=self._workers > 0,
            )
            fit_blocks(estimator, blocks)
            self.reader, self.summary = blocks.reader, blocks.summary
            if self.reader.hold_out:
                self.held_out, self.sample = blocks.draw()

    def _owner(self) -> str:
        """Return a digest of all that determines the fit."""
        parameters = pack_parameters(self.estimator.get_params(deep=False))
        reader = self.reader
        facts = (
            type(self.estimator).__name__,
            name_owner(parameters, []),
            reader.rows.digest,
            reader.names,
            reader.target,
            reader.hold_out,
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def _check_estimator(estimator: Any, target: str | None) -> None:
    name = type(estimator).__name__
    if not hasattr(estimator, "_fit_blocks") and not isinstance(
        estimator, IncompleteGaussianMixture
    ):
        msg = (
            f"Got a {name}, but expected an estimator of lacunet: LacunetClassifier, "
            f"LacunetRegressor, LacunetImputer, LacunetAutoencoder or "
            f"IncompleteGaussianMixture."
        )
        raise TypeError(msg)
    needed = is_classifier(estimator) or is_regressor(estimator)
    if needed != (target is not None):
        expected = "the name of a column" if needed else "None: it has no target"
        msg = f"Got target={target!r} for a {name}, but expected {expected}."
        raise ValueError(msg)
    if not isinstance(estimator, IncompleteGaussianMixture):
        check_parameters(estimator)
    density = getattr(estimator, "density", estimator)
    for what, given, advice in (
        ("warm_start", getattr(estimator, "warm_start", False), "begin anew"),
        ("time_limit", getattr(estimator, "time_limit", None), "give max_epochs"),
        ("strategy", getattr(density, "strategy", "em") == "mean", "use 'em'"),
    ):
        if given:
            msg = (
                f"Got {what}={getattr(estimator, what, 'mean')!r}, which fits over "
                f"files do not have: {advice}."
            )
            raise ValueError(msg)


@dataclass(frozen=True)
class Reader:
    """Row groups as tables of cells, and encoded; the same in each process."""

    rows: ParquetRows
    names: tuple[str, ...]  # of the columns, without the target
    target: str | None
    classes: bool  # whether the target is a class
    hold_out: float = 0.0  # fraction of the rows that are left out

    @classmethod
    def of_target(
        cls,
        rows: ParquetRows,
        target: str | None,
        estimator: Any,
        drop: Sequence[str] = (),
        hold_out: float = 0.0,
    ) -> "Reader":
        """Make a reader of all columns but some, one of them the target."""
        if target is not None and target not in rows.names:
            msg = (
                f"Got target={target!r}, but expected one of the columns: "
                f"{list_names(rows.names)}."
            )
            raise TableError(msg)
        classes = is_classifier(estimator)
        if target is not None and not classes:
            kind = rows.schema.field(target).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                msg = (
                    f"Got target={target!r}, a column of {kind}, but expected numbers. "
                    f"Use LacunetClassifier if its values are names of classes."
                )
                raise TableError(msg)
        names = tuple(x for x in rows.names if x != target and x not in drop)
        if not names:
            msg = "Got files with the target alone, but expected columns beside it."
            raise TableError(msg)
        return cls(rows, names, target, classes, hold_out)

    def without(self, bad: Mapping[str, str]) -> "Reader":
        """Return a reader that leaves out some files, for the reasons given."""
        rows = self.rows
        for path, reason in bad.items():
            rows = rows.without(path, reason)
        return replace(self, rows=rows)

    def batches(self, group: RowGroup) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Yield rows with numbers by their places, uint64; none that is held out."""
        columns = [*self.names, *([] if self.target is None else [self.target])]
        place = group.number << 32
        for batch in self.rows.batches(group, columns):
            places = np.arange(place, place + len(batch), dtype=np.uint64)
            place += len(batch)
            table = pa.Table.from_batches([batch])
            if self.hold_out:
                chosen = ~self.is_held_out(places)
                table, places = table.filter(pa.array(chosen)), places[chosen]
            yield table, places

    def is_held_out(self, places: np.ndarray) -> np.ndarray:
        """Return which rows are left out."""
        return np.asarray(scramble(~places) < np.uint64(self.hold_out * 2**64))

    def tables(
        self, group: RowGroup
    ) -> Iterator[tuple[pa.Table, pa.ChunkedArray | None]]:
        """Yield the columns of some rows after others, and their targets."""
        for table, _ in self.batches(group):
            target = None if self.target is None else table.column(self.target)
            yield table.select(self.names), target

    def coded(self, group: RowGroup, coder: RowCoder) -> Iterator[Coded]:
        """Yield encoded rows."""
        for table, places in self.batches(group):
            cells = self.target and table.column(self.target).to_pylist()
            yield coder.code(table.select(self.names), cells, places)


# --- what workers do with a row group


def _summarise_group(group: RowGroup, reader: Reader) -> Summary | BadFileError:
    try:
        found = summarise_rows(reader.tables(group), classes=reader.classes)
    except BadFileError as error:
        return error
    except (ValueError, TypeError) as error:  # infinite values, cells of no type
        reason = f"which can't be used ({str(error).rstrip('.')})"
        return reader.rows.refuse(group, reason)
    if found.n_rows and not any(column.n_observed for column in found.columns):
        return reader.rows.refuse(group, "without a value in any column")
    return found


def _scan_group(
    group: RowGroup, reader: Reader, coder: RowCoder, grids: list[np.ndarray]
) -> Scan:
    return scan_rows(reader.coded(group, coder), coder, grids)


def _draw_rows(
    group: RowGroup, reader: Reader, fractions: tuple[float, float]
) -> list[tuple[pa.Table, np.ndarray]]:
    """Draw fractions of the rows with a target, held out ones and others."""
    drawn: list[list[tuple[pa.Table, np.ndarray]]] = [[], []]
    for table, places in replace(reader, hold_out=0.0).batches(group):
        out, ranks = reader.is_held_out(places), scramble(places) / 2.0**64
        if reader.target is not None:
            missing = pc.is_null(table.column(reader.target), nan_is_null=True)
            ranks[missing.to_numpy()] = np.inf
        for parts, fraction, of in zip(drawn, fractions, (out, ~out), strict=True):
            chosen = of & (ranks <= min(fraction, 1.0))
            parts.append((table.filter(pa.array(chosen)), places[chosen]))
    return [
        (
            pa.concat_tables([table for table, _ in parts]),
            np.concatenate([places for _, places in parts]),
        )
        for parts in drawn
    ]


def _expect_group(
    group: RowGroup, reader: Reader, coder: RowCoder, *arguments: Any
) -> tuple[float, Any] | None:
    """Make an E-step; there is none if all rows of a small group are held out."""
    tables = (table for table, _ in reader.tables(group) if len(table))
    return expect_block(map(coder.encode, tables), *arguments)


def _train_view(
    team: Team,
    reader: Reader,
    coder: RowCoder,
    job: ViewJob,
    path: Path | None,
    owner: str,
    verbose: bool,
) -> Trained:
    store = None
    if path is not None:
        store = CheckpointFile(path)
        store.belong_to(owner, job.seed)

    def read(number: int) -> Iterator[Coded]:
        return reader.coded(reader.rows.groups[number], coder)

    return train_view(team, job, read, store, verbose=verbose)


# --- the driver


class ParquetBlocks:
    """A table in row groups, and the workers that read them."""

    def __init__(
        self,
        reader: Reader,
        workers: Workers,
        journal: Journal,
        *,
        verbose: bool,
        skip_bad_files: bool,
        is_remote: bool = False,
    ) -> None:
        self.reader, self._workers, self._journal = reader, workers, journal
        self._skip, self._verbose = skip_bad_files, verbose
        self._is_remote = is_remote
        self._line = ProgressLine(shown=verbose)
        self._n_expectations = 0
        self._bound, self._mixture = "", None
        self.names = [*reader.names]
        self.summary: Summary | None = None

    def summarise(self, max_categories: int) -> TableSummary:
        """Describe all columns, and leave out files that turn out to be bad."""
        bad, summary = self._journal.remember("summary", self._summarise)
        self.reader, self.summary = self.reader.without(bad), summary
        self.reader.rows.warn_skipped()
        if self.reader.target and not summary.counts and not summary.moments.n:
            target = self.reader.target
            msg = f"Got target={target!r}, a column without a value, but expected some."
            raise TableError(msg)
        return summary.to_table(self.names, max_categories)

    def _summarise(self) -> tuple[dict[str, str], Summary]:
        bad: dict[str, str] = {}
        while True:
            reader = self.reader.without(bad)
            found: dict[str, str] = {}
            total: Summary | None = None
            for result in self._map("Columns", _summarise_group, reader):
                if isinstance(result, BadFileError):
                    if not self._skip:
                        raise result
                    found[result.path] = result.reason
                elif not found:
                    total = result if total is None else total + result
            bad |= found
            if not found:  # else once more, without these files
                assert total is not None
                return bad, total

    def begin(self, seed: int) -> int:
        """Return the seed of this fit: the one given, unless it has begun before."""
        # Under torchrun each rank has drawn another: that of the first is taken.
        [first, *_] = self._workers.map(int, [seed] * self._workers.n)
        return self._journal.remember("seed", lambda: int(first))

    def scan(self, coder: RowCoder, grids: list[np.ndarray]) -> Scan:
        """Add up and sample the encoded rows."""
        scans = partial(self._map, "Rows", _scan_group, self.reader, coder, grids)
        found: Scan = self._journal.remember("scan", lambda: reduce(add, scans()))
        return deepcopy(found)  # arrays that come from Ray are read-only

    def expect(self, coder: RowCoder, *arguments: Any) -> tuple[float, Any]:
        """Make an E-step over all rows."""
        self._n_expectations += 1
        if arguments[0] is not self._mixture:
            self._mixture, self._bound = arguments[0], ""
        name = f"EM, iteration {self._n_expectations}{self._bound}"
        expectations = partial(
            self._map, name, _expect_group, self.reader, coder, *arguments
        )
        found: tuple[float, Any] = self._journal.remember(
            f"em-{self._n_expectations}",
            lambda: reduce(add_expectations, filter(None, expectations())),
            of=arguments[1],
        )
        return found

    def draw(self) -> list[pa.Table]:
        """Return rows that were held out, and others, as if drawn at random."""
        reader, out, summary = self.reader, self.reader.hold_out, self.summary
        assert summary is not None
        most = _MOST_HELD_OUT, min(_MOST_SAMPLED, _MOST_CELLS // len(self.names))
        # Some more, of which the first are taken.
        n_labelled = max(1, sum(summary.counts.values()) or summary.moments.n)
        expected = n_labelled * out / (1 - out), n_labelled
        fractions = tuple(1.2 * m / n for m, n in zip(most, expected, strict=True))
        groups = self._map("Held-out rows", _draw_rows, reader, fractions)
        tables = []
        for drawn, n_rows in zip(zip(*groups, strict=True), most, strict=True):
            some, places = zip(*drawn, strict=True)
            order = np.argsort(scramble(np.concatenate(places)), kind="stable")
            chosen = pa.array(np.sort(order[:n_rows]))
            tables.append(pa.concat_tables(some).take(chosen))
        return tables

    def watch(self, log_likelihood: float) -> bool:
        """Show how far EM is."""
        self._bound = f", log-likelihood {log_likelihood:.4f}"
        return False

    def train(self, coder: RowCoder, jobs: Sequence[ViewJob]) -> list[Trained]:
        """Train views, each by as many workers as there are for it."""
        n_blocks = int(np.count_nonzero(jobs[0].n_labelled))
        size = max(1, min(self._workers.n // len(jobs), n_blocks, LANES))
        folder, owner = self._journal.folder, self._journal.owner
        calls = []
        for number, job in enumerate(jobs):
            path = None if folder is None else folder / f"view-{number}.safetensors"
            arguments = (self.reader, coder, job, path, owner, self._verbose)
            calls.append([arguments] * size)
        n_rows = jobs[0].whole.n_rows
        with self._show_epochs(n_rows, [team[0][3] for team in calls]):
            return [members[0] for members in self._workers.teams(_train_view, calls)]

    @contextmanager
    def _show_epochs(self, n_rows: int, paths: Sequence[Path | None]) -> Iterator[None]:
        """Show the epochs that workers on Ray have trained, by their checkpoints."""
        known = [path for path in paths if path is not None]
        if not self._verbose or not self._is_remote or not known:
            yield
            return
        over = Event()

        def describe() -> str:
            texts = []
            for number, path in enumerate(known, start=1):
                history = read_history(path)
                text = f"view {number}: starting"
                if history:
                    last = history[-1]
                    rate = n_rows * last.epoch / max(1e-9, last.seconds)
                    text = (
                        f"view {number}: epoch {last.epoch}, validation loss "
                        f"{last.valid_loss:.4f}, {rate:,.0f} rows/s"
                    )
                texts.append(text)
            return f"Training, {self._count_workers()}; {'; '.join(texts)}"

        def watch() -> None:
            while not over.wait(1.0):
                self._line.show(describe)

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            clear_line()

    def _map(
        self, what: str, function: Callable[..., Any], *shared: Any
    ) -> Iterator[Any]:
        """Yield a result for each row group, in their order; show how far it is."""
        reader: Reader = shared[0]
        groups, n_rows, began = reader.rows.groups, 0, time.monotonic()
        results = self._workers.map(function, groups, *shared)
        for group, result in zip(groups, results, strict=True):
            n_rows += group.n_rows
            rate = n_rows / max(1e-9, time.monotonic() - began)
            self._line.show(self._describe, what, n_rows, rate)
            yield result
        clear_line()

    def _describe(self, what: str, n_rows: float, rate: float) -> str:
        counted = f"{what}: {n_rows:,} of {self.reader.rows.n_rows:,} rows"
        return f"{counted}, {rate:,.0f} rows/s, {self._count_workers()}"

    def _count_workers(self) -> str:
        text = show_count(self._workers.n, "worker")
        n = self._workers.n_restarts
        return f"{text} ({n} restarted)" if n else text
