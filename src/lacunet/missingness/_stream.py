"""Random numbers that are not those which the data were made of."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def own_stream(random_state: Any) -> np.random.RandomState:
    """Return a random state of its own, seeded by the one given.

    The numbers that follow a seed may well be the data: a table of uniform numbers that
    was made with the same seed would decide what is lost of it.

    Parameters
    ----------
    random_state : int, RandomState instance or None

    Returns
    -------
    RandomState
    """
    return np.random.RandomState(check_random_state(random_state).randint(2**31 - 1))
