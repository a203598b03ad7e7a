"""Ways to lose values of a table: MCAR, MAR, MNAR, censoring, patches of images."""

from lacunet.missingness._patches import drop_patch
from lacunet.missingness._values import drop_values

__all__ = ["drop_patch", "drop_values"]
