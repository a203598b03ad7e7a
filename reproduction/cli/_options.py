"""Names that can be given to commands."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Written down here, as the experiments themselves take seconds to import.
EXPERIMENTS: Mapping[str, str] = MappingProxyType(
    {
        "table-1": "autoencoders on digits with a patch removed",
        "table-2": "a perceptron on seizures, 25 to 90% of values removed",
        "table-4": "RBF networks on sets with missing values of their own",
        "table-6": "RBF networks on sets with half of all values removed",
        "figure-2": "digits given back by the autoencoders of table 1",
        "figure-gamma": "a density for gamma to 0, 1 and to infinity",
        "figure-density": "a density learned with the network, against EM",
        "figure-cost": "time of the layer against an ordinary one",
        "claim-rows": "is it needed to train on incomplete rows?",
        "claim-mnist": "are mice and EM impossible on images?",
        "claim-information": "theorem 4.1 in numbers",
    }
)
PROTOCOLS = ("quick", "paper", "authors")
STAND_INS: Final = "digits"
