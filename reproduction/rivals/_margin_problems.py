"""Planes between two classes for given ratios of norms, by libsvm."""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC, SVR

from reproduction.rivals._zero_filled import ZeroFilled

# A seed is drawn for libsvm, which has no use for it: not from the global generator.
_UNUSED = 0


class Solver(NamedTuple):
    """When libsvm stops."""

    tol: float
    max_iter: int


class Sides(NamedTuple):
    """Rows of two classes, and what a violated margin costs."""

    rows: ZeroFilled
    signs: np.ndarray  # (rows,), of -1.0 and 1.0
    costs: np.ndarray  # (rows,)

    def take(self, rows: np.ndarray) -> "Sides":
        """Return some of the rows."""
        return Sides(self.rows.take(rows), self.signs[rows], self.costs[rows])


class Plane(NamedTuple):
    """A plane ``w = sum_j coef_j K(x_j, .)`` and its intercept."""

    support: ZeroFilled
    coef: np.ndarray  # (support,)
    intercept: float


def solve_scaled(
    gram: np.ndarray, sides: Sides, ratios: np.ndarray, solver: Solver
) -> Plane:
    """Find the plane with ``y (w.x / ratio + b) >= 1`` where that can be had.

    That is a support vector machine on rows divided by their ratios.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
    sides : Sides
    ratios : ndarray of shape (n_rows,)
    solver : Solver

    Returns
    -------
    Plane
        Through rows as they are, not divided.
    """
    machine = SVC(kernel="precomputed", random_state=_UNUSED, **solver._asdict())
    machine.fit(gram / np.outer(ratios, ratios), sides.signs, sides.costs)
    support, intercept = machine.support_, float(machine.intercept_[0])
    coef = machine.dual_coef_[0] / ratios[support]
    return Plane(sides.rows.take(support), coef, intercept)


def solve_exact(
    gram: np.ndarray, sides: Sides, ratios: np.ndarray, solver: Solver
) -> Plane:
    """Find the plane with ``y (w.x + b) / ratio >= 1`` where that can be had.

    The loss ``max(0, ratio - y f(x)) / ratio`` is that of a regression on targets
    ``y (ratio + width)`` with a tube so wide that only its near side is ever met.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
    sides : Sides
    ratios : ndarray of shape (n_rows,)
    solver : Solver

    Returns
    -------
    Plane
    """
    width, signed = 1.0, -np.ones(1)
    while signed.min() < 0:  # the far side was met
        width *= 10.0
        machine = SVR(kernel="precomputed", epsilon=width, **solver._asdict())
        machine.random_state = _UNUSED  # no parameter of its own
        machine.fit(gram, sides.signs * (ratios + width), sides.costs / ratios)
        signed = sides.signs[machine.support_] * machine.dual_coef_[0]
    support, intercept = machine.support_, float(machine.intercept_[0])
    return Plane(sides.rows.take(support), machine.dual_coef_[0], intercept)
