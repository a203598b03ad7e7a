"""What a model's table was: kept beside the model, for the tables to come."""

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from lacunet.exceptions import TableError
from lacunet.tables._options import ReadOptions

_MOST_BYTES = 2**20


@dataclass(frozen=True)
class ModelTable:
    """The table that a model was trained on.

    Parameters
    ----------
    source : str, default=""
        Name of its file.
    target : str or None, default=None
        Name of the column that is predicted.
    missing : tuple of str, default=()
        Cells that mean "missing", beside the usual ones.
    usual_missing : bool, default=True
        Whether the usual ones do.

    Examples
    --------
    >>> from lacunet.tables import ModelTable, ReadOptions
    >>> known = ModelTable("patients.csv", "ill", ("-999",))
    >>> known.options(ReadOptions(missing=("x",))).missing
    ('x', '-999')
    """

    FILE_NAME: ClassVar[str] = "table.json"

    source: str = ""
    target: str | None = None
    missing: tuple[str, ...] = ()
    usual_missing: bool = True

    def options(self, given: ReadOptions) -> ReadOptions:
        """Return how another table is to be read: its markers are these, too.

        Parameters
        ----------
        given : ReadOptions

        Returns
        -------
        ReadOptions
        """
        more = tuple(text for text in self.missing if text not in given.missing)
        usual = given.usual_missing and self.usual_missing
        return replace(given, missing=given.missing + more, usual_missing=usual)

    def to_text(self) -> str:
        """Return what stands in the file.

        Returns
        -------
        str
        """
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read what stands beside a model; nothing is known of one without the file.

        Parameters
        ----------
        folder : str or PathLike
            That of the model.

        Returns
        -------
        ModelTable
        """
        path = Path(folder) / cls.FILE_NAME
        if not path.is_file():
            return cls()
        try:
            with path.open("rb") as stream:
                return cls._of_record(json.loads(stream.read(_MOST_BYTES)))
        except (ValueError, TypeError, RecursionError) as error:
            msg = (
                f"Got {path} that is damaged ({error}), but expected what lacunet fit "
                f"wrote. Delete it, and give --missing again, or fit again."
            )
            raise TableError(msg) from error

    @classmethod
    def _of_record(cls, record: Any) -> Self:
        names = [field.name for field in fields(cls)]
        if not isinstance(record, dict) or sorted(record) != sorted(names):
            msg = f"expected {names}"
            raise ValueError(msg)
        source, target, missing, usual = (record[name] for name in names)
        texts = [source, *missing, *([] if target is None else [target])]
        if not isinstance(missing, list) or not all(isinstance(t, str) for t in texts):
            msg = "expected texts"
            raise ValueError(msg)
        if not isinstance(usual, bool):
            msg = "expected true or false"
            raise TypeError(msg)
        return cls(source, target, tuple(missing), usual)
