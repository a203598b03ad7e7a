"""Parquet files as one table: found, checked by their footers, read in batches."""

import hashlib
import os
import posixpath
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet._output import explain
from lacunet._text import list_names, shorten, show_count
from lacunet.exceptions import TableError, warn_user

_ENDINGS = (".parquet", ".parq", ".pq")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://")
_INDEX = re.compile(r"__index_level_[0-9]+__")  # what pandas calls a nameless index
_UNITS = ("s", "ms", "us", "ns")
_MOST_SHOWN = 10  # files that were left out
_PREVIEWED = 16  # row groups
_THREADS = 16  # that read footers: it is waiting for the most part


class BadFileError(TableError):
    """A file that can't be used; with its path, what is wrong, and the row group."""

    def __init__(self, path: str, reason: str, row_group: int | None = None) -> None:
        super().__init__(path, reason, row_group)  # by which it is pickled
        self.path = path
        self.reason = (
            reason if row_group is None else f"row group {row_group}, {reason}"
        )

    def __str__(self) -> str:
        """Return where it is, what is wrong, and what to do."""
        return (
            f"Got {self.path}, {self.reason}. Write the file again, or leave such "
            f"files out with skip_bad_files=True (--skip-bad-files)."
        )


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file: the unit of work."""

    number: int  # among all row groups of the data set
    path: str
    index: int  # in its file
    first_row: int  # in its file
    n_rows: int


@dataclass(frozen=True)
class ParquetRows:
    """The rows of Parquet files that have the same columns.

    Nothing but footers has been read when it is made, and it can be pickled.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of all files together: numbers of different types are float64, dictionaries
        and texts of any type are strings.
    groups : tuple of RowGroup
        In the order of the paths.
    folder : str
        The lowest folder that all files are in.
    footers : mapping of str to str
        A digest of the footer of each file.
    skipped : mapping of str to str
        Why files were left out.
    filesystem : pyarrow.fs.FileSystem, default=None
        Where the files are; local if None.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [40, 50]}).to_parquet(f"{folder}/a.parquet")
    ...     pd.DataFrame({"age": [None, 70.5]}).to_parquet(f"{folder}/b.parquet")
    ...     rows = ParquetRows.open(folder)
    ...     batches = [next(rows.batches(group)) for group in rows.groups]
    >>> rows.n_rows, [batch.column("age").to_pylist() for batch in batches]
    (4, [[40.0, 50.0], [None, 70.5]])
    """

    schema: pa.Schema
    groups: tuple[RowGroup, ...]
    folder: str
    footers: Mapping[str, str]
    skipped: Mapping[str, str]
    filesystem: Any = None

    @classmethod
    def open(
        cls,
        data: Any,
        *,
        skip_bad_files: bool = False,
        columns: Collection[str] | None = None,
    ) -> Self:
        """Find files and check their footers.

        Parameters
        ----------
        data : path, sequence of paths, or pyarrow.dataset.Dataset
            Of files, folders or patterns such as ``data/*.parquet``.
        skip_bad_files : bool, default=False
            Whether to leave out files that can't be used, which is an error otherwise.
        columns : collection of str, default=None
            Those that matter: files may differ in the others. All by default.

        Returns
        -------
        ParquetRows
        """
        filesystem, paths = _find_files(data)
        with ThreadPoolExecutor(_THREADS) as pool:
            found = pool.map(
                lambda path: _read_footer(path, filesystem, columns), paths
            )
            footers = dict(zip(paths, found, strict=True))
        good = {k: x for k, x in footers.items() if not isinstance(x, BadFileError)}
        schema, different = _unify(
            {path: footer.types for path, footer in good.items()}
        )
        bad = {k: x for k, x in footers.items() if isinstance(x, BadFileError)}
        bad |= different
        if bad and not skip_bad_files:
            msg = str(bad[min(bad)])
            if len(bad) > 1:
                more = show_count(len(bad) - 1, "more file")
                msg += f" There are {more} that can't be used, of {len(paths)}."
            raise TableError(msg)
        good = {path: footer for path, footer in good.items() if path not in bad}
        skipped = {path: bad[path].reason for path in sorted(bad)}
        _check_some(good, skipped)
        groups: list[RowGroup] = []
        for path, footer in good.items():
            first_row = 0
            for index, n_rows in enumerate(footer.counts):
                groups.append(RowGroup(len(groups), path, index, first_row, n_rows))
                first_row += n_rows
        digests = {path: footer.digest for path, footer in good.items()}
        folder = os.path.commonpath([*map(os.path.dirname, paths)])
        for name, path in _partitions(paths, folder):
            if name not in schema.names and (columns is None or name in columns):
                msg = (
                    f"Got {path}, with column {name!r} in the name of a folder, but "
                    f"expected all columns in the files. Write it to them, or use the "
                    f"files of one such folder."
                )
                raise TableError(msg)
        return cls(schema, tuple(groups), folder, digests, skipped, filesystem)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the files, sorted."""
        return tuple(self.footers)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(group.n_rows for group in self.groups)

    @cached_property
    def digest(self) -> str:
        """A hash of names, footers and schema: what a checkpoint is of.

        A footer has the places, sizes and ranges of all columns of its file.
        """
        files = sorted((self.relative(path), x) for path, x in self.footers.items())
        columns = [(field.name, str(field.type)) for field in self.schema]
        return hashlib.sha256(repr((files, columns)).encode()).hexdigest()

    def relative(self, path: str) -> str:
        """Return the name of a file below the common folder, with slashes."""
        return Path(path).relative_to(self.folder).as_posix()

    def without(self, path: str, reason: str) -> Self:
        """Return all but a file, which turned out to be bad."""
        left = [group for group in self.groups if group.path != path]
        groups = tuple(replace(each, number=i) for i, each in enumerate(left))
        footers = {each: x for each, x in self.footers.items() if each != path}
        skipped = {**self.skipped, path: reason}
        _check_some(footers, skipped)
        return replace(self, groups=groups, footers=footers, skipped=skipped)

    def warn_skipped(self) -> None:
        """List the files that were left out, if there are any."""
        if not self.skipped:
            return
        shown = [f"{path}, {reason}" for path, reason in self.skipped.items()]
        more = len(shown) - _MOST_SHOWN
        text = "; ".join(shown[:_MOST_SHOWN])
        text += f"; and {more} more" if more > 0 else ""
        n_files = show_count(len(shown) + len(self.paths), "file")
        warn_user(f"Left out {len(shown)} of {n_files}: {text}.")

    def refuse(self, group: RowGroup, reason: str) -> BadFileError:
        """Return the error of a row group: "without a value, but expected some"."""
        return BadFileError(group.path, reason, group.index)

    def batches(
        self, group: RowGroup, columns: Sequence[str] | None = None, n_rows: int = 2**14
    ) -> Iterator[pa.RecordBatch]:
        """Read a row group in the types of the common schema.

        Parameters
        ----------
        group : RowGroup
            One of ``groups``.
        columns : sequence of str, default=None
            In the order in which they are returned; all by default.
        n_rows : int, default=2**14
            Of a batch; the last may have less. Memory depends on this alone.

        Yields
        ------
        pyarrow.RecordBatch
        """
        names = self.names if columns is None else columns
        schema = pa.schema([self.schema.field(name) for name in names])
        n_read = 0
        try:
            with pq.ParquetFile(
                group.path,
                filesystem=self.filesystem,
                pre_buffer=False,  # else all of a row group would be in memory
                buffer_size=2**18,
                page_checksum_verification=True,
            ) as file:
                counts = _count_rows(file)
                if counts[group.index : group.index + 1] != [group.n_rows]:
                    reason = "changed since it was opened, but expected as it was"
                    raise self.refuse(group, reason)
                for batch in file.iter_batches(
                    n_rows, [group.index], columns=[*names], use_threads=False
                ):
                    batch.validate(full=True)  # also that texts are UTF-8
                    arrays = [_cast(batch.column(x.name), x.type) for x in schema]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                    n_read += len(batch)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"which can't be read ({_reason(error)}), but expected whole pages"
            raise self.refuse(group, reason) from error
        if n_read != group.n_rows:
            reason = f"with {n_read} rows, but expected {group.n_rows} by its footer"
            raise self.refuse(group, reason)

    def preview(
        self, columns: Sequence[str], *, n_rows: int, skip_bad_files: bool = False
    ) -> pa.Table:
        """Read the first rows of row groups from all over the files.

        Parameters
        ----------
        columns : sequence of str
            In the order in which they are returned.
        n_rows : int
            At most, and all if there are so few.
        skip_bad_files : bool, default=False
            Whether row groups that can't be read are left out.

        Returns
        -------
        pyarrow.Table
        """
        chosen = self.groups[:: -(-len(self.groups) // _PREVIEWED)]
        if self.n_rows <= n_rows:
            chosen, size = self.groups, n_rows
        else:
            size = n_rows // len(chosen)
        batches = []
        for group in chosen:
            try:
                batches.append(next(self.batches(group, columns, size)))
            except BadFileError:
                if not skip_bad_files:
                    raise
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(batches, schema)

    @contextmanager
    def local(self, path: str) -> Iterator[str]:
        """Yield the path of a file, or of a copy of it if it is elsewhere."""
        if self.filesystem is None:
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, posixpath.basename(path))
            try:
                stream = self.filesystem.open_input_stream(path)
                with stream, copy.open("wb") as file:
                    shutil.copyfileobj(stream, file, 2**20)
            except OSError as error:
                reason = (
                    f"which can't be copied ({_reason(error)}), but expected a file"
                )
                raise BadFileError(path, reason) from error
            yield str(copy)


# --- finding files


def _find_files(data: Any) -> tuple[Any, list[str]]:
    """Return where files are, and their paths, sorted."""
    if isinstance(data, ds.Dataset):
        return _files_of(data)
    entries = [data] if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(entries, Collection) or not entries:
        msg = (
            f"Got data={shorten(repr(data))}, but expected the path of Parquet files, "
            f"a list of such, or a pyarrow.dataset.Dataset."
        )
        raise TypeError(msg)
    paths: set[str] = set()
    places = []
    for entry in map(os.fspath, entries):
        place, found = _find_at(entry) if _ADDRESS.match(entry) else _find_local(entry)
        if not found:
            msg = (
                f"Got {entry!r}, where no Parquet file is, but expected a file, a "
                f"folder with files that end in .parquet, or a pattern."
            )
            raise TableError(msg)
        paths |= {*found}
        places += [place] if place not in places else []
    if len(places) > 1:
        msg = f"Got files on {len(places)} file systems in data, but expected one."
        raise TableError(msg)
    return places[0], sorted(paths)


def _files_of(data: ds.Dataset) -> tuple[Any, list[str]]:
    """Return the files of a dataset, if they are all that it is made of."""
    if not isinstance(data, ds.FileSystemDataset) or not isinstance(
        data.format, ds.ParquetFileFormat
    ):
        what = f"a {type(data).__name__} that is not of Parquet files alone"
    elif getattr(data, "_scan_options", {}).get("filter") is not None:
        what = "a dataset with a filter"
    elif any(
        ds.get_partition_keys(each.partition_expression)
        for each in data.get_fragments()
    ):
        what = "a dataset with columns in the names of folders"
    else:
        local = isinstance(data.filesystem, pafs.LocalFileSystem)
        if local:  # a worker may be in another folder
            return None, sorted(str(Path(path).absolute()) for path in data.files)
        return data.filesystem, sorted(data.files)
    msg = (
        f"Got {what}, but expected all of some Parquet files. Write it to such with "
        f"pyarrow.dataset.write_dataset, and use their folder."
    )
    raise TableError(msg)


def _find_local(entry: str) -> tuple[None, list[str]]:
    path = Path(entry).absolute()  # a worker may be in another folder
    matches = [path]
    if not path.exists():
        found = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        own = {*path.parts}
        matches = [x for x in found if not any(map(_is_hidden, {*x.parts} - own))]
    paths: list[str] = []
    for match in matches:
        below = (str(x) for x in match.rglob("*") if x.is_file())
        paths += _select(below, str(match)) if match.is_dir() else [str(match)]
    return None, paths


def _find_at(address: str) -> tuple[Any, list[str]]:
    """Find files at an address that fsspec knows, such as s3://bucket/folder."""
    try:
        import fsspec  # type: ignore[import-untyped]

        place, path = fsspec.core.url_to_fs(address)
        matches = [path] if place.exists(path) else place.glob(path)
        paths: list[str] = []
        for match in matches:
            isdir = place.isdir(match)
            paths += _select(place.find(match), match) if isdir else [match]
    except (ImportError, ValueError, OSError) as error:
        msg = (
            f"Got {address}, which could not be opened: {_reason(error)}. Install what "
            f"is lacking, or copy the files first."
        )
        raise TableError(msg) from error
    return pafs.PyFileSystem(pafs.FSSpecHandler(place)), paths


def _select(paths: Any, folder: str) -> list[str]:
    """Return the Parquet files below a folder that are not hidden."""
    return [
        path
        for path in paths
        if path.lower().endswith(_ENDINGS)
        and not any(map(_is_hidden, Path(path).relative_to(folder).parts))
    ]


def _partitions(paths: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """Yield names of columns in the names of folders, such as year=2024."""
    for path in paths:
        for part in Path(path).relative_to(folder).parts[:-1]:
            if "=" in part:
                yield part.partition("=")[0], path


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _check_some(good: Mapping[str, Any], skipped: Mapping[str, str]) -> None:
    """Refuse to go on without any file."""
    if not good:
        path, reason = next(iter(skipped.items()))
        msg = (
            f"Got {show_count(len(skipped), 'file')}, none of which can be used, but "
            f"expected some rows. The first is {path}, {reason}."
        )
        raise TableError(msg)


# --- footers


class _Footer(NamedTuple):
    digest: str  # of its bytes
    counts: list[int]  # rows of each row group
    types: dict[str, pa.DataType]  # of each column


def _read_footer(
    path: str, filesystem: Any, columns: Collection[str] | None
) -> _Footer | BadFileError:
    """Return what is in a footer, or what is wrong with it."""
    try:
        place = filesystem or pafs.LocalFileSystem()
        size = place.get_file_info(path).size or 0
        if not size:
            return BadFileError(path, "which is empty, but expected a Parquet file")
        with pq.ParquetFile(path, filesystem=filesystem, pre_buffer=False) as file:
            schema, counts = file.schema_arrow, _count_rows(file)
        with place.open_input_file(path) as stream:
            stream.seek(size - 8)
            n_bytes = int.from_bytes(stream.read(4), "little")
            stream.seek(size - 8 - n_bytes)
            digest = hashlib.sha256(stream.read(n_bytes)).hexdigest()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"which can't be read ({_reason(error)}), but expected a Parquet file"
        return BadFileError(path, what)
    fields = [x for x in schema if columns is None or x.name in columns]
    fields = [x for x in fields if not _INDEX.fullmatch(x.name)]
    types = {field.name: _plain(field.type) for field in fields}
    if not sum(counts):
        return BadFileError(path, "which has no rows, but expected some")
    if 0 in counts:
        return BadFileError(
            path, "which has no rows, but expected some", counts.index(0)
        )
    if len(types) < len(fields):
        name = Counter(field.name for field in fields).most_common(1)[0][0]
        what = f"with several columns {shorten(name)!r}, but expected a name for each"
        return BadFileError(path, what)
    return _Footer(digest, counts, types)


def _count_rows(file: pq.ParquetFile) -> list[int]:
    known = file.metadata
    return [known.row_group(i).num_rows for i in range(known.num_row_groups)]


def _unify(
    files: Mapping[str, Mapping[str, pa.DataType]],
) -> tuple[pa.Schema, dict[str, BadFileError]]:
    """Return the schema of most files, and the files that it is not the schema of."""
    bad: dict[str, BadFileError] = {}
    sets = Counter(frozenset(types) for types in files.values())
    usual = max(sets, key=sets.__getitem__, default=frozenset())
    names = next((list(t) for t in files.values() if usual == set(t)), [])
    for path, types in files.items():
        if lacking := [name for name in names if name not in types]:
            what = f"without column {list_names(lacking)}, but expected it"
        elif other := [name for name in types if name not in usual]:
            what = f"with column {list_names(other)}, but expected none of that name"
        else:
            continue
        bad[path] = BadFileError(
            path, f"{what}, as in {sets[usual]} of {len(files)} files"
        )
    fields = []
    for name in names:
        found = {path: types[name] for path, types in files.items() if path not in bad}
        kinds = Counter(_kind(x) for x in found.values() if not pt.is_null(x))
        kind = max(kinds, key=kinds.__getitem__, default="null")
        here = [x for x in found.values() if _kind(x) == kind] or [pa.null()]
        type_ = _join(here)
        for path, other_type in found.items():
            if _kind(other_type) != kind and not pt.is_null(other_type):
                what = (
                    f"with column {shorten(name)!r} of type {other_type}, but expected "
                    f"{type_}, as in {len(here)} of {len(files)} files"
                )
                bad[path] = BadFileError(path, what)
        fields.append(pa.field(name, type_))
    return pa.schema(fields), bad


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return the type as which a column is read from its file."""
    if pt.is_dictionary(type_):
        return _plain(type_.value_type)
    if pt.is_large_string(type_) or pt.is_string_view(type_):
        return pa.string()
    return pa.float32() if pt.is_float16(type_) else type_


def _kind(type_: pa.DataType) -> str:
    """Return what types have to have in common to be joined."""
    if pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_):
        return "number"
    return f"timestamp {type_.tz}" if pt.is_timestamp(type_) else str(type_)


def _join(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return one type for types of one kind."""
    if len({*types}) == 1:
        return types[0]
    if pt.is_timestamp(types[0]):
        finest = max((each.unit for each in types), key=_UNITS.index)
        return pa.timestamp(finest, types[0].tz)
    return pa.float64()


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    plain = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    if pt.is_null(plain.type):
        return pa.nulls(len(plain), type_)
    # Integers beyond 2**53 become the nearest floats.
    return plain.cast(type_, safe=not pt.is_floating(type_))


def _reason(error: BaseException) -> str:
    text = "".join(x if x.isprintable() else " " for x in explain(error))
    return " ".join(text.split())[:200].rstrip(".")
