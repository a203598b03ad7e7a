"""Names that the comparison still imports from here."""

from lacunet.evaluation._hold_out import hide_column as hide_column
