"""The toy of the supplement: four Gaussians in the plane, two classes."""

import numpy as np
from sklearn.utils import check_random_state

TOY = "four-gaussians"
CENTRES = np.array([[-3.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [3.0, -1.0]])
CLASSES = np.array([0, 1, 1, 0])
SPREAD = 0.5
SHARE = 0.5  # of the points with x1 < 0


def make_toy(
    n_rows: int, random_state: object = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw points of two classes; some on the left have lost one of two attributes.

    As in the supplement, an attribute is lost from points with ``x1 < 0`` alone. The
    paper gives no figures; here the classes change places from left to right, so that
    whoever takes the density of all points for that of the incomplete ones is misled.

    Parameters
    ----------
    n_rows : int
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
    y : ndarray of shape (n_rows,)
    complete : ndarray of shape (n_rows, 2)
    """
    state = check_random_state(random_state)
    which = state.randint(len(CENTRES), size=n_rows)
    complete = CENTRES[which] + SPREAD * state.randn(n_rows, 2)
    lost = (complete[:, 0] < 0) & (state.rand(n_rows) < SHARE)
    column = state.randint(2, size=n_rows)
    X = complete.copy()
    X[lost, column[lost]] = np.nan
    return X, CLASSES[which], complete
