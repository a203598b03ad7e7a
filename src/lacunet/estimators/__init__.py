"""Scikit-learn estimators that take tables with missing values as they are.

Names that are imported as themselves are for other rooms, not for users.
"""

from lacunet.estimators._autoencoder import LacunetAutoencoder
from lacunet.estimators._checks import check_given as check_given
from lacunet.estimators._checks import check_labels as check_labels
from lacunet.estimators._checks import check_numbers as check_numbers
from lacunet.estimators._checks import check_parameters as check_parameters
from lacunet.estimators._checks import check_weights as check_weights
from lacunet.estimators._checks import find_classes as find_classes
from lacunet.estimators._checks import find_device as find_device
from lacunet.estimators._checks import read_table as read_table
from lacunet.estimators._classifier import LacunetClassifier
from lacunet.estimators._columns import Column as Column
from lacunet.estimators._columns import as_table as as_table
from lacunet.estimators._columns import read_columns as read_columns
from lacunet.estimators._densities import DTYPE as DTYPE
from lacunet.estimators._encoding import TableEncoder as TableEncoder
from lacunet.estimators._encoding import TargetScale as TargetScale
from lacunet.estimators._fit import make_plan as make_plan
from lacunet.estimators._fit import undisturbed as undisturbed
from lacunet.estimators._imputer import LacunetImputer
from lacunet.estimators._predicting import OF_PIPELINES as OF_PIPELINES
from lacunet.estimators._predicting import EncodedModel as EncodedModel
from lacunet.estimators._rbf import LacunetRBFClassifier
from lacunet.estimators._regressor import LacunetRegressor
from lacunet.estimators._sampling import deal_folds as deal_folds
from lacunet.estimators._sampling import find_copies as find_copies
from lacunet.estimators._saving import CheckpointFile as CheckpointFile
from lacunet.estimators._saving import check_place, load
from lacunet.estimators._saving import name_owner as name_owner
from lacunet.estimators._saving import pack_parameters as pack_parameters
from lacunet.estimators._saving import read_history as read_history
from lacunet.estimators._stream import LANES as LANES
from lacunet.estimators._stream import Coded as Coded
from lacunet.estimators._stream import RowCoder as RowCoder
from lacunet.estimators._stream import Scan as Scan
from lacunet.estimators._stream import TableSummary as TableSummary
from lacunet.estimators._stream import Trained as Trained
from lacunet.estimators._stream import ViewJob as ViewJob
from lacunet.estimators._stream import expect_block as expect_block
from lacunet.estimators._stream import fit_blocks as fit_blocks
from lacunet.estimators._stream import scan_rows as scan_rows
from lacunet.estimators._stream import scramble as scramble
from lacunet.estimators._stream import train_view as train_view
from lacunet.estimators._uncertainty import VarianceParts
from lacunet.estimators._uncertainty import find_p_values as find_p_values

__all__ = [
    "LacunetAutoencoder",
    "LacunetClassifier",
    "LacunetImputer",
    "LacunetRBFClassifier",
    "LacunetRegressor",
    "VarianceParts",
    "check_place",
    "load",
]
