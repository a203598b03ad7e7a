"""What is missing in a table, and what that depends on."""

from lacunet.profile._columns import ColumnProfile, Distribution
from lacunet.profile._dependence import SIGNIFICANCE as SIGNIFICANCE  # for report
from lacunet.profile._dependence import Association, AssociationTable, Predictability
from lacunet.profile._findings import Finding
from lacunet.profile._little import LittleTest, little_mcar_test
from lacunet.profile._patterns import MissingPair, Pattern
from lacunet.profile._profile import Profile, TargetProfile, profile_table

__all__ = [
    "Association",
    "AssociationTable",
    "ColumnProfile",
    "Distribution",
    "Finding",
    "LittleTest",
    "MissingPair",
    "Pattern",
    "Predictability",
    "Profile",
    "TargetProfile",
    "little_mcar_test",
    "profile_table",
]
