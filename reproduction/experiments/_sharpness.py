"""How sharp images are."""

import math

import numpy as np


def find_sharpness(
    images: np.ndarray, original: np.ndarray, region: np.ndarray | None = None
) -> np.ndarray:
    """Return the gradient energy of each image, relative to that of its original.

    The energy is the sum of the squared differences between neighbouring pixels, to
    the right and below. Blurred images have less than their originals, noise has more:
    sharpness is no virtue without a low error.

    Parameters
    ----------
    images, original : ndarray of shape (images, pixels)
        Squares, as flat rows.
    region : ndarray of bool of shape (images, pixels), default=None
        Only pairs of neighbours with at least one in here count; all by default.

    Returns
    -------
    ndarray of shape (images,)

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.experiments._sharpness import find_sharpness
    >>> edge = np.array([[0.0, 1.0, 0.0, 1.0]])
    >>> find_sharpness(edge / 2, edge)
    array([0.25])
    """
    where = np.ones(original.shape, bool) if region is None else region
    ratio: np.ndarray = _energy(images, where) / _energy(original, where)
    return ratio


def _energy(images: np.ndarray, region: np.ndarray) -> np.ndarray:
    side = math.isqrt(images.shape[1])
    square = images.reshape(-1, side, side).astype(np.float64)
    inside = region.reshape(square.shape)
    total = np.zeros(len(square))
    for axis in (1, 2):
        first, second = (np.delete(inside, end, axis) for end in (-1, 0))
        steps = np.square(np.diff(square, axis=axis))
        total += np.where(first | second, steps, 0).sum(axis=(1, 2))
    return total
