"""Two classes apart by margins that are measured in each row's own columns."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reproduction.rivals._kernels import ColumnwiseKernel
from reproduction.rivals._margin_problems import (
    Plane,
    Sides,
    Solver,
    solve_exact,
    solve_scaled,
)
from reproduction.rivals._zero_filled import ZeroFilled

Algorithm = Literal["iterated", "exact", "average"]

# Numbers of a Gram matrix that are computed at once in a prediction.
_BLOCK_BUDGET = 2**22
# Ratios that change by less are settled.
_SETTLED = 1e-3


@dataclass(frozen=True)
class MarginLearner:
    """The binary learner of ``GeometricMarginSVC``, whose docstring has the formulas.

    Parameters
    ----------
    kernel : ColumnwiseKernel
    algorithm : {"iterated", "exact", "average"}
    n_iter : int
        Most problems to solve.
    least_ratio : float
        Ratios of norms are brought up to it.
    solver : Solver
        When each problem counts as solved.
    """

    kernel: ColumnwiseKernel
    algorithm: Algorithm
    n_iter: int
    least_ratio: float
    solver: Solver

    def fit(self, sides: Sides) -> list[Plane]:
        """Return the planes of all iterations, until the ratios settle.

        Parameters
        ----------
        sides : Sides
            Every row has an observed value, and both classes have a row.

        Returns
        -------
        list of Plane
            At least one, at most ``n_iter``.
        """
        gram = self.kernel.gram(sides.rows, sides.rows)
        solve = solve_exact if self.algorithm == "exact" else solve_scaled
        ratios = np.ones(len(sides.signs))
        planes = [solve(gram, sides, ratios, self.solver)]
        while len(planes) < self.n_iter:
            earlier, ratios = ratios, self.find_ratios(planes[-1], sides.rows.observed)
            if np.abs(ratios - earlier).max() < _SETTLED:
                break
            planes.append(solve(gram, sides, ratios, self.solver))
        return planes

    def find_ratios(self, plane: Plane, observed: np.ndarray) -> np.ndarray:
        """Compute ``|w restricted to o| / |w|`` for the observed columns of each row.

        Parameters
        ----------
        plane : Plane
        observed : ndarray of bool of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            From ``least_ratio`` to 1; all 1 if ``w`` is zero.
        """
        if self.algorithm == "average":
            return np.ones(len(observed))
        patterns, group = np.unique(observed, axis=0, return_inverse=True)
        every = np.ones_like(patterns[:1])
        total, *squares = self.kernel.squared_norms(
            plane.support, plane.coef, np.vstack([every, patterns])
        )
        if total <= 0:
            return np.ones(len(observed))
        shares = np.maximum(squares, 0.0) / total  # not below, but for rounding
        ratios: np.ndarray = np.sqrt(shares).clip(self.least_ratio, 1.0)
        return ratios[group.ravel()]

    def decide(self, plane: Plane, rows: ZeroFilled) -> np.ndarray:
        """Compute on which side of a plane rows are, and how far from it.

        Parameters
        ----------
        plane : Plane
        rows : ZeroFilled

        Returns
        -------
        ndarray of shape (n_rows,)
            The intercept for rows with nothing observed.
        """
        step = max(1, _BLOCK_BUDGET // max(1, len(plane.coef)))
        products = [
            self.kernel.gram(rows.take(slice(start, start + step)), plane.support)
            @ plane.coef
            for start in range(0, len(rows.values), step)
        ]
        scores = np.where(rows.observed.any(1), np.concatenate(products), 0.0)
        if self.algorithm == "iterated":
            scores /= self.find_ratios(plane, rows.observed)
        scores += plane.intercept
        return scores


def choose_iterate(
    learner: MarginLearner,
    sides: Sides,
    fraction: float,
    random_state: np.random.RandomState,
) -> int:
    """Find the iterate that is right on most rows that are held back.

    The first is none of them if there are others: to its plane all rows are complete.

    Parameters
    ----------
    learner : MarginLearner
    sides : Sides
    fraction : float
        Share of the rows of each class to hold back.
    random_state : RandomState

    Returns
    -------
    int
        Its place, from one. The first of the best; the last if there are too few rows
        to hold any back.
    """
    held = _hold_back(sides.signs, fraction, random_state)
    if not held.any():
        return learner.n_iter
    judged = sides.take(held)
    right = [
        judged.costs @ (learner.decide(plane, judged.rows) * judged.signs > 0)
        for plane in learner.fit(sides.take(~held))
    ]
    return 1 if len(right) == 1 else 2 + int(np.argmax(right[1:]))


def _hold_back(
    signs: np.ndarray, fraction: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Mark a share of the rows of either class, rounded down."""
    held = np.zeros(len(signs), dtype=bool)
    for sign in (-1.0, 1.0):
        rows = random_state.permutation(np.flatnonzero(signs == sign))
        held[rows[: int(fraction * len(rows))]] = True
    return held
