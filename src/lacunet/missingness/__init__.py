"""Ways to lose values of a table: MCAR, MAR, MNAR, censoring, patches of images."""

from lacunet.missingness._missing import drop_values
from lacunet.missingness._patches import drop_patch

__all__ = ["drop_patch", "drop_values"]
