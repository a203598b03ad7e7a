"""What is missing in a table, and on what that depends."""

from lacunet.profile._dependence import HoleLink, LinkTable
from lacunet.profile._findings import Finding
from lacunet.profile._foresight import Foresight, TargetScore
from lacunet.profile._hole_map import HoleMap
from lacunet.profile._little import LittleTest, little_mcar_test
from lacunet.profile._patterns import (
    HolePair,
    Pattern,
    PatternCounts,
    RowCounts,
    Together,
)
from lacunet.profile._profile import (
    ColumnProfile,
    Dependence,
    Profile,
    TargetProfile,
    profile_table,
)

__all__ = [
    "ColumnProfile",
    "Dependence",
    "Finding",
    "Foresight",
    "HoleLink",
    "HoleMap",
    "HolePair",
    "LinkTable",
    "LittleTest",
    "Pattern",
    "PatternCounts",
    "Profile",
    "RowCounts",
    "TargetProfile",
    "TargetScore",
    "Together",
    "little_mcar_test",
    "profile_table",
]
