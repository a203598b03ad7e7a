"""What is missing in a table, and what that depends on."""

from lacunet.profile._association import SIGNIFICANCE as SIGNIFICANCE  # for report
from lacunet.profile._association import Association, AssociationTable
from lacunet.profile._findings import Finding
from lacunet.profile._little import LittleTest, little_mcar_test
from lacunet.profile._patterns import (
    MissingMap,
    MissingPair,
    Pattern,
    PatternCounts,
    RowCounts,
    Together,
)
from lacunet.profile._predictability import Predictability, TargetScore
from lacunet.profile._profile import (
    ColumnProfile,
    Dependence,
    Profile,
    TargetProfile,
    profile_table,
)

__all__ = [
    "Association",
    "AssociationTable",
    "ColumnProfile",
    "Dependence",
    "Finding",
    "LittleTest",
    "MissingMap",
    "MissingPair",
    "Pattern",
    "PatternCounts",
    "Predictability",
    "Profile",
    "RowCounts",
    "TargetProfile",
    "TargetScore",
    "Together",
    "little_mcar_test",
    "profile_table",
]
