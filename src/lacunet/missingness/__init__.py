"""Ways to lose values of a table: MCAR, MAR, MNAR, censoring, patches of images.

Names that are imported as themselves are for other rooms, not for users.
"""

from lacunet.missingness._cells import Table as Table
from lacunet.missingness._cells import as_table as as_table
from lacunet.missingness._cells import find_observed as find_observed
from lacunet.missingness._cells import read_columns as read_columns
from lacunet.missingness._cells import without_cells as without_cells
from lacunet.missingness._patches import drop_patch
from lacunet.missingness._values import drop_values

__all__ = ["drop_patch", "drop_values"]
