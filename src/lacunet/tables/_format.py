"""How a file is written: what stands between cells, in which encoding."""

from dataclasses import dataclass
from os import PathLike, fspath
from typing import Literal

FileKind = Literal["csv", "parquet"]

_PARQUET_NAMES = (".parquet", ".pq", ".parq")


@dataclass(frozen=True)
class FileFormat:
    r"""How a file is written.

    Parameters
    ----------
    kind : {"csv", "parquet"}, default="csv"
        The other fields are about CSV.
    separator : str, default=","
    decimal : {".", ","}, default="."
        What stands before the decimals of a number.
    encoding : str, default="utf-8"
    has_mark : bool, default=False
        Whether the file begins with the mark of its encoding (a BOM).
    line_end : str, default="\n"
    quote : str, default='"'

    Examples
    --------
    >>> from lacunet.tables import FileFormat
    >>> FileFormat.of_name("out.parquet").kind
    'parquet'
    """

    kind: FileKind = "csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    has_mark: bool = False
    line_end: str = "\n"
    quote: str = '"'

    @classmethod
    def of_name(cls, path: str | PathLike[str]) -> "FileFormat":
        """Return the format that a name asks for.

        Parameters
        ----------
        path : str or PathLike
            Parquet ends in ``.parquet`` or ``.pq``; ``.tsv`` has tabs; all else, also
            ``-``, is CSV with commas.

        Returns
        -------
        FileFormat
        """
        name = fspath(path).lower()
        if name.endswith(_PARQUET_NAMES):
            return cls("parquet")
        return cls(separator="\t" if name.endswith((".tsv", ".tsv.gz")) else ",")
