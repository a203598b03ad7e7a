"""What is to be told of the table that a model was trained on."""

import re
from dataclasses import dataclass

from lacunet.tables import ColumnInfo


@dataclass(frozen=True)
class TableFacts:
    """The table that a model was trained on.

    Parameters
    ----------
    file : str
        Its name, or a path of which only the name is told.
    target : str
        The column that is predicted.
    n_rows : int
        All rows.
    n_unlabelled : int
        Those without a target.
    columns : tuple of ColumnInfo
        What is known of the columns that the model sees; the target may be among them,
        and is passed over.

    Examples
    --------
    >>> from lacunet.evaluation import TableFacts
    >>> from lacunet.tables import ColumnInfo
    >>> age, ill = ColumnInfo("age", "number", 2, 9), ColumnInfo("ill", "text", 1, 2)
    >>> facts = TableFacts("data/patients.csv", "ill", 10, 1, (age, ill))
    >>> facts.name, [column.name for column in facts.inputs]
    ('patients.csv', ['age'])
    """

    file: str
    target: str
    n_rows: int
    n_unlabelled: int
    columns: tuple[ColumnInfo, ...]

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return re.split(r"[/\\]", self.file.rstrip("/\\"))[-1]

    @property
    def inputs(self) -> tuple[ColumnInfo, ...]:
        """The columns without the target."""
        return tuple(each for each in self.columns if each.name != self.target)

    def share_missing(self, column: ColumnInfo) -> float:
        """Return how much of a column is missing.

        Parameters
        ----------
        column : ColumnInfo

        Returns
        -------
        float
        """
        return column.n_missing / max(self.n_rows, 1)
