"""Kernels between rows with missing values, and norms on some of the columns."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from reproduction.rivals._zero_filled import ZeroFilled

# Numbers that a block may hold at once: 4 MB, which stay near the processor.
_BLOCK_BUDGET = 2**19
_MOST_PATTERNS = 512
_LEAST_EXPONENT = -300.0  # as good as nothing


class ColumnwiseKernel(ABC):
    """A kernel ``K(x, x') = link(sum_l share_l(x_l, x'_l))``, a sum over columns.

    Restricted to some columns it is the same with the sum over these alone. So the
    norms of a function ``w = sum_j coef_j K(x_j, .)`` on many sets of columns are
    products of the masks of these sets with the shares of all pairs of rows.
    """

    @abstractmethod
    def gram(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the kernel between rows, (rows, others)."""

    @abstractmethod
    def _shares(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return what each column adds, (features, rows, others)."""

    @abstractmethod
    def _link(self, totals: np.ndarray) -> np.ndarray:
        """Return the kernel for sums of shares, which may be overwritten."""

    def squared_norms(
        self, rows: ZeroFilled, coef: np.ndarray, patterns: np.ndarray
    ) -> np.ndarray:
        """Compute ``|w restricted to o|**2`` for each set ``o`` of columns.

        Takes as many steps as patterns times pairs of rows, in blocks of bounded size.

        Parameters
        ----------
        rows : ZeroFilled
            The rows that ``w`` is made of.
        coef : ndarray of shape (n_rows,)
        patterns : ndarray of bool of shape (n_patterns, n_features)
            True in the columns of each set.

        Returns
        -------
        ndarray of shape (n_patterns,)
        """
        masks = patterns.astype(np.float64)
        parts = np.array_split(masks, math.ceil(len(masks) / _MOST_PATTERNS))
        return np.concatenate([self._sum_pairs(rows, coef, part) for part in parts])

    def _sum_pairs(
        self, rows: ZeroFilled, coef: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        squares = np.zeros(len(masks))
        step = max(1, _BLOCK_BUDGET // (max(1, len(coef)) * sum(masks.shape)))
        for start in range(0, len(coef), step):
            block = slice(start, start + step)
            shares = self._shares(rows.take(block), rows.take(slice(start, None)))
            weights = np.outer(coef[block], coef[start:])
            weights[:, step:] *= 2.0  # these pairs don't come again the other way round
            kernel = self._link(masks @ shares.reshape(len(shares), -1))
            squares += kernel @ weights.ravel()  # (patterns, pairs) -> (patterns,)
        return squares


@dataclass(frozen=True)
class LinearKernel(ColumnwiseKernel):
    """The inner product over the columns that both rows have."""

    def gram(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the kernel between rows, (rows, others)."""
        product: np.ndarray = linear_kernel(rows.values, others.values)
        return product

    def _shares(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        return _products(rows, others)

    def _link(self, totals: np.ndarray) -> np.ndarray:
        return totals

    def squared_norms(
        self, rows: ZeroFilled, coef: np.ndarray, patterns: np.ndarray
    ) -> np.ndarray:
        """Compute the same from ``w`` itself, at no cost."""
        squares: np.ndarray = patterns @ (coef @ rows.values) ** 2
        return squares


@dataclass(frozen=True)
class PolynomialKernel(ColumnwiseKernel):
    """``(g x.x' + coef0) ** degree`` over the columns that both rows have."""

    g: float
    coef0: float
    degree: int

    def gram(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the kernel between rows, (rows, others)."""
        power: np.ndarray = polynomial_kernel(
            rows.values, others.values, self.degree, self.g, self.coef0
        )
        return power

    def _shares(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        return _products(rows, others)

    def _link(self, totals: np.ndarray) -> np.ndarray:
        base = self.g * totals + self.coef0
        power = base
        for _ in range(self.degree - 1):
            power = power * base  # many times as fast as ``**``
        return power


@dataclass(frozen=True)
class RadialKernel(ColumnwiseKernel):
    """``exp(-g |x - x'|**2)`` of rows with zeros where values are missing.

    To leave columns out is no projection here: a norm may grow by it.
    """

    g: float

    def gram(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the kernel between rows, (rows, others)."""
        radial: np.ndarray = rbf_kernel(rows.values, others.values, self.g)
        return radial

    def _shares(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        return -self.g * _squares(rows, others)

    def _link(self, totals: np.ndarray) -> np.ndarray:
        return _exp(totals)


@dataclass(frozen=True)
class ProductKernel(ColumnwiseKernel):
    """The product over all columns of ``(1 + exp(-g (x_l - x'_l)**2)) / 2``.

    The factor is one half where either row misses the value. The kernel is positive
    semi-definite, and to leave columns out is a projection.
    """

    g: float
    n_features: int

    def gram(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the kernel between rows, (rows, others)."""
        product = np.ones((len(rows.values), len(others.values)))
        for place in range(self.n_features):
            radial = self._radial(rows.column(place), others.column(place))
            product *= (1.0 + radial[0]) / 2.0
        return product

    def _radial(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        """Return the RBF of each column, 0 where either row misses it."""
        both = rows.observed.T[:, :, None] & others.observed.T[:, None, :]
        radial: np.ndarray = both * _exp(-self.g * _squares(rows, others))
        return radial

    def _shares(self, rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
        shares: np.ndarray = np.log1p(self._radial(rows, others))
        return shares

    def _link(self, totals: np.ndarray) -> np.ndarray:
        totals -= self.n_features * math.log(2.0)
        return _exp(totals)


def _exp(exponents: np.ndarray) -> np.ndarray:
    """Return exponentials in the place of their exponents."""
    # In less than half of numpy's time, but slow where the result has few digits.
    torch.from_numpy(exponents).clamp_(min=_LEAST_EXPONENT).exp_()
    return exponents


def _products(rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
    """Return the product of each pair of values, (features, rows, others)."""
    product: np.ndarray = rows.values.T[:, :, None] * others.values.T[:, None, :]
    return product


def _squares(rows: ZeroFilled, others: ZeroFilled) -> np.ndarray:
    """Return the squared difference of each pair, (features, rows, others)."""
    difference = rows.values.T[:, :, None] - others.values.T[:, None, :]
    squares: np.ndarray = np.square(difference, out=difference)
    return squares


def karma_kernel(rows: ZeroFilled, others: ZeroFilled, gamma: int) -> np.ndarray:
    """Compute karma's kernel, ``(1 + n + ... + n**(gamma - 1)) * x.x'``.

    Both ``n``, the number of columns, and the inner product are over the columns that
    are observed in both rows.

    Parameters
    ----------
    rows, others : ZeroFilled
    gamma : int
        Number of terms, at least one.

    Returns
    -------
    ndarray of shape (n_rows, n_others)
    """
    common = rows.observed.astype(np.float64) @ others.observed.T
    kernel: np.ndarray = power_sum(common, gamma) * (rows.values @ others.values.T)
    return kernel


def karma_distances(rows: ZeroFilled, others: ZeroFilled, gamma: int) -> np.ndarray:
    """Compute squared distances in the feature space of karma's kernel.

    Parameters
    ----------
    rows, others : ZeroFilled
    gamma : int
        Number of terms, at least one.

    Returns
    -------
    ndarray of shape (n_rows, n_others)
    """
    squares, others_squares = (
        power_sum(x.observed.sum(1), gamma) * (x.values**2).sum(1)
        for x in (rows, others)
    )
    crossed = karma_kernel(rows, others, gamma)
    distances = squares[:, None] + others_squares - 2.0 * crossed
    nearest: np.ndarray = np.maximum(distances, 0.0)  # but for rounding
    return nearest


def power_sum(count: Any, gamma: int) -> Any:
    """Compute ``1 + count + ... + count**(gamma - 1)``, which is right at 0 and 1."""
    total = np.ones_like(count, dtype=np.float64)
    for _ in range(gamma - 1):
        total = total * count + 1.0
    return total
