"""Imputation: mixtures, weighted by how well they fill cells hidden from them."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from scipy.optimize import nnls
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from torch import Tensor, nn

from lacunet.density import (
    GaussianMixtureDensity,
    IncompleteGaussianMixture,
    MixtureDensity,
    fit_mixed,
    refine_mixed,
)
from lacunet.density import refine as refine_mixture
from lacunet.estimators._base import DensityEstimator
from lacunet.estimators._checks import find_device, read_bounds, read_table
from lacunet.estimators._densities import (
    DTYPE,
    build_density,
    fill_bounded,
    some_rows,
    split_bounds,
)
from lacunet.estimators._encoding import (
    FOR_TABLES,
    Bounds,
    InputEncoder,
    Method,
    TableEncoder,
    fit_scaling,
    scaling_from_state,
)
from lacunet.estimators._fit import to_tensor
from lacunet.estimators._sampling import canonical_order
from lacunet.estimators._saving import check_agreement
from lacunet.estimators._stream import Blocks, RowCoder, TargetCode
from lacunet.estimators._views import ViewShape
from lacunet.exceptions import warn_user


class Candidate(NamedTuple):
    """A mixture that "auto" may give a weight."""

    covariance_type: Literal["diag", "factor", "full"]
    n_components: int
    reg_covar: float  # on the scale of the encoded numbers, whose variance is one
    # Whether categories are one-hot numbers of the Gaussians, which see how they depend
    # on each other and on numbers; else they depend on the component alone.
    one_hot: bool = True
    # Whether numbers are mapped to quantiles of the normal distribution first, which
    # fills skewed columns with medians rather than means.
    quantiles: bool = False


class Weighted(NamedTuple):
    """A candidate with the mixture to start from, and its weights."""

    candidate: Candidate
    mixture: IncompleteGaussianMixture
    weights: tuple[float, float]  # for numbers, and for categories


class Limits(NamedTuple):
    """What the observed values of each numeric column have in common, (columns,)."""

    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray  # whether all are whole numbers, bool


# Given a mixture, its components (None if it is fitted itself) and whether numbers are
# mapped to quantiles, it goes on with EM over all rows, and returns components.
Refine = Callable[[IncompleteGaussianMixture, Any, bool], Any]

# The cheap ones first: a time limit cuts the others.
_CANDIDATES = (
    Candidate("full", 1, 1e-3),
    Candidate("full", 1, 1e-3, quantiles=True),
    Candidate("diag", 12, 1e-2, one_hot=False),
    Candidate("factor", 1, 1e-3),
    Candidate("full", 2, 1e-2),
    Candidate("full", 2, 1e-2, quantiles=True),
    Candidate("full", 4, 1e-2),
    Candidate("full", 4, 1e-2, quantiles=True),
)
# For a few rows, and as a description of a mixture that was given.
_PLAIN = Candidate("diag", 1, 1e-2, one_hot=False)
# Components x columns² beyond which covariances are of factors instead of full.
_LARGEST_FULL = 20_000
_ITERATIONS = 15
_TOLERANCE = 2e-2
_MOST_ROWS = 10_000
# To choose by: rows, cells that are hidden, and how often, until there are enough.
_ROWS_TO_CHOOSE = 1_000
_FEWEST_ROWS = 10
_HIDDEN = 0.15
_ENOUGH_CELLS = 300
_MOST_ROUNDS = 3
# In standard deviations: a few outliers would decide alone.
_OUTLIER = 4.0
# Error, relative to the least, from which on more components are not tried.
_HOPELESS = 1.03
# Pull of the weights towards equal ones, in squared errors of the best candidate, and
# the least weight that is kept.
_PULL = 0.02
_LEAST_WEIGHT = 0.05
_DRAWS = 32
# Draws outside of the observed range are drawn again this often, then capped.
_REDRAWS = 5


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetImputer(OneToOneFeatureMixin, TransformerMixin, DensityEstimator):
    """Fill tables of numbers, categories and dates from mixtures fitted by EM.

    With ``density="auto"`` several mixtures are fitted after some observed cells were
    hidden from them: one full Gaussian, a factor analyser, a dozen diagonal components,
    two and four full ones; the full ones also with numbers mapped to quantiles of the
    normal distribution, for skewed columns. The weights with which their conditional
    means come closest to the hidden cells are the weights in ``transform``; mixtures
    of little weight are dropped, the others are fitted again to all cells.

    What is filled in looks like what was observed: numbers and dates stay inside the
    range of training, and a column whose observed values are all whole numbers (0 and
    1, counts, years) gets whole numbers. That costs a little in squared error, for
    which 0.4 is the better guess of a 0 or 1, and gains in absolute error.

    A column without one observed value in training stays missing, whatever it holds,
    and ``fit`` warns of it: nothing is known to fill it with.

    Parameters
    ----------
    density : "auto" or IncompleteGaussianMixture, default="auto"
        The mixture; with "auto" several, weighted by their error on hidden cells.
    gamma : float, default=0.0
        The paper's regulariser: the variance of a noise on observed values, on the
        standardised scale. The larger, the less the observed cells count.
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all.
    on_unseen_missing : {"warn", "use", "raise"}, default="use"
        What to do about missing values in a column that had none in training: warn and
        fill them, fill them, or raise an error.
    missing_columns : {"raise", "use"}, default="raise"
        What to do about frames, after training, that lack a column: raise an error, or
        use them, the column missing in each row. Columns are found by name.
    time_limit : float, default=None
        Seconds after which no further mixture of "auto" is fitted; at least one is, and
        a warning reports that others were left out. A mixture given as ``density`` is
        not cut: it has ``max_iter``.
    verbose : int, default=0
        Whether to print the error of each mixture on the hidden cells, and the weights.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        Where to compute; "auto" for the best device that torch finds.
    random_state : int, RandomState instance or None, default=None
        Seed of EM, of the hidden cells and of the draws.

    Attributes
    ----------
    density_ : GaussianMixtureDensity or MixedMixtureDensity
        The density of the encoded table with the largest weight.
    densities_ : list of GaussianMixtureDensity or MixedMixtureDensity
        All of them. Those with full or factor covariances take categories as one-hot
        numbers, unless the mixture was given.
    weights_ : ndarray of shape (n_densities, 2)
        Their weights for numbers (and dates) and for categories, which sum to one. A
        row is drawn from one of them, with the mean of both for probability.
    on_quantiles_ : ndarray of bool of shape (n_densities,)
        Whether the numbers of a density are mapped to normal quantiles first.
    quantiles_ : object
        That map, of the encoded numbers.
    limits_ : tuple of ndarray
        Smallest and largest observed value of each column of numbers or dates (in days
        since the first), and whether all are whole. A model saved by 0.1.0 neither caps
        nor rounds: it has the smallest and largest floats.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetImputer
    >>> x = np.linspace(-1, 1, 100)
    >>> X = np.column_stack([x, 2 * x])
    >>> X[::3, 1] = np.nan
    >>> LacunetImputer(random_state=0).fit_transform(X)[99].round(1)
    array([1., 2.])
    """

    density: Any = "auto"
    gamma: float = 0.0
    max_categories: int = 32
    scale: Method = "standard"
    on_unseen_missing: Literal["warn", "use", "raise"] = "use"
    missing_columns: Literal["raise", "use"] = "raise"
    time_limit: float | None = None
    verbose: int = 0
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    random_state: Any = None

    def fit(
        self, X: Any, y: Any = None, *, lower: Any = None, upper: Any = None
    ) -> Self:
        """Fit the mixtures to the observed cells.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : Ignored
            Not used; for scikit-learn's API.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, NaN or infinite where there is none: a value
            below a detection limit is NaN in ``X``, and the limit in ``upper``. Bounds
            of observed values are checked, and have no effect. Where there is no lower
            bound, it is 0 in a column without a negative value; give one of your own
            where that is wrong.

        Returns
        -------
        self
        """
        began = time.monotonic()
        self._begin()
        table = read_table(self, X, reset=True)
        encoder = TableEncoder(max_categories=self.max_categories, scale=self.scale)
        bounds = read_bounds(self, table, lower, upper)
        encoded = encoder.fit_transform(table, bounds)
        self._inputs = InputEncoder(encoder, np.empty(0), smooth=False)
        self.limits_ = _find_limits(encoder, table)
        rows = self._inputs.add_marks(encoded, farthest=FOR_TABLES)
        measured = rows[:, : encoder.n_numeric]
        placed = encoder.place_bounds(table, bounds)
        if placed is not None:
            filled = fill_bounded(encoder.numbers_of(table), *placed)
            scaled = encoder.scaling.transform(filled)
            measured = np.where(np.isnan(measured), scaled, measured)
            rows = self._inputs.add_bounds(rows, placed, farthest=FOR_TABLES)
        self.quantiles_ = fit_scaling(measured, "quantile")
        rows = rows[canonical_order(rows)]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._fit_mixtures(rows, seed, began)
        return self

    def _fit_mixtures(
        self, rows: np.ndarray, seed: int, began: float, refine: Refine | None = None
    ) -> None:
        """Fit the mixture that was given to encoded rows, or several of "auto"."""
        if isinstance(self.density, IncompleteGaussianMixture):
            given = clone(self.density)
            if given.random_state is None:
                given.set_params(random_state=seed)
            found = [Weighted(_PLAIN, given, (1.0, 1.0))]
        else:
            found = self._weigh(rows, seed, began)
            rows = some_rows(rows, seed, _MOST_ROWS)
        self.densities_: list[MixtureDensity] = []
        for candidate, mixture, _ in found:
            if self._is_over(began, len(self.densities_)):
                break
            density = self._fit_mixture(candidate, mixture, rows, refine)
            self.densities_.append(density.to(find_device(self.device)))
        self.density_ = self.densities_[0]
        kept = found[: len(self.densities_)]
        self.on_quantiles_ = np.array([each.candidate.quantiles for each in kept])
        self.weights_ = np.array([each.weights for each in kept])
        self.weights_ /= self.weights_.sum(0)

    def _fit_blocks(self, blocks: Blocks) -> None:
        """Fit to a table in blocks: weights to a sample, mixtures to all rows."""
        self._begin()
        summary, encoder = self._describe_blocks(blocks)
        nothing = np.empty(0, dtype=np.intp)
        self._inputs = InputEncoder(encoder, nothing, smooth=False)
        self.limits_ = Limits(summary.low, summary.high, summary.whole)
        scaled = encoder.scaling.transform(summary.values)
        values = self._inputs.add_marks(scaled, farthest=FOR_TABLES)
        self.quantiles_ = fit_scaling(values[:, : encoder.n_numeric], "quantile")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        seed = blocks.begin(seed)
        coder = RowCoder(self._inputs, TargetCode(), 1, seed, farthest=FOR_TABLES)
        scan = blocks.scan(coder, [])

        def refine(
            mixture: IncompleteGaussianMixture, components: Any, on_quantiles: bool
        ) -> Any:
            see = None
            if on_quantiles:
                mapping = self.quantiles_.transform
                see = partial(_map_numbers, mapping, encoder.n_numeric)

            def expect(components: Any) -> tuple[float, Any]:
                return blocks.expect(coder, mixture, components, see)

            if components is not None:
                result = refine_mixed(
                    mixture, components, expect, scan.n_rows, stop=blocks.watch
                )
                return result.components
            refine_mixture(
                mixture, expect, scan.n_rows, np.zeros(encoder.width), blocks.watch
            )
            return None

        rows = scan.sample.x.astype(np.float64)
        self._fit_mixtures(rows, seed, time.monotonic(), refine)

    def transform(self, X: Any, *, lower: Any = None, upper: Any = None) -> Any:
        """Fill missing values with conditional means, categories with their mode.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``; what is filled in lies between,
            and may lie outside of the range of what was observed.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        return self.impute(X, lower=lower, upper=upper)

    def fit_transform(
        self, X: Any, y: Any = None, *, lower: Any = None, upper: Any = None
    ) -> Any:
        """Fit, then fill the missing values of the same table.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : Ignored
            Not used; for scikit-learn's API.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        self.fit(X, y, lower=lower, upper=upper)
        return self.transform(X, lower=lower, upper=upper)

    # --- fitting

    def _weigh(self, rows: np.ndarray, seed: int, began: float) -> list[Weighted]:
        """Return mixtures that fill hidden cells well, the best one first."""
        random_state = np.random.RandomState(seed)
        some = rows[random_state.permutation(len(rows))[:_ROWS_TO_CHOOSE]]
        some, bounds = np.hsplit(some, [len(self._inputs.sources)])
        masks = self._hide(some, random_state)
        scaled, scale = self._standardise(some)
        observed = np.concatenate([scaled[mask] for mask in masks])
        if len(rows) < _FEWEST_ROWS or not len(observed):
            return [Weighted(_PLAIN, _mixture_of(_PLAIN, some, seed), (1.0, 1.0))]
        mixtures: dict[Candidate, IncompleteGaussianMixture] = {}
        filled: list[np.ndarray] = []
        errors: dict[Candidate, float] = {}
        mappable = self._inputs.n_numeric > 0 and self.scale != "quantile"
        for candidate in _candidates_for(some.shape[1], quantiles=mappable):
            if self._is_over(began, len(mixtures), fraction=0.5):
                break
            if candidate.n_components == 4:
                # Where two components have paid, and only on the better scale.
                of_two = {c.quantiles: e for c, e in errors.items() if c[1] == 2}
                best = min(*of_two.values(), _HOPELESS * min(errors.values()))
                if of_two[candidate.quantiles] > best:
                    continue
            cells = []
            for mask in masks:
                incomplete = np.where(mask, np.nan, some)
                mixture = _mixture_of(candidate, incomplete, seed)
                incomplete = np.hstack([incomplete, bounds])
                density = self._fit_mixture(candidate, mixture, incomplete)
                with torch.inference_mode():
                    means = self._means(density, candidate.quantiles, incomplete)
                cells.append((means / scale)[mask].clip(-_OUTLIER, _OUTLIER))
            mixtures[candidate] = mixture
            filled.append(np.concatenate(cells))
            errors[candidate] = float(np.sqrt(np.square(filled[-1] - observed).mean()))
        numbers = np.concatenate([np.nonzero(mask)[1] for mask in masks])
        numbers = numbers < self._inputs.n_numeric
        # Where there is but one kind, its weights are those of both.
        kinds = [kind if kind.any() else ~kind for kind in (numbers, ~numbers)]
        stacked = np.stack(filled, 1)
        weights = [_stack(stacked[kind], observed[kind]).tolist() for kind in kinds]
        found = []
        for (candidate, mixture), *pair in zip(mixtures.items(), *weights, strict=True):
            if self.verbose:
                print(  # noqa: T201
                    f"{candidate.covariance_type} covariances, components "
                    f"{mixture.n_components}{', quantiles' * candidate.quantiles}: "
                    f"RMSE of hidden cells {errors[candidate]:.4f} standard deviations,"
                    f" weight {pair[0]:.2f} for numbers, {pair[1]:.2f} for categories"
                )
            if any(pair):
                found.append(Weighted(candidate, mixture, (pair[0], pair[1])))
        mapped = [candidate for candidate in mixtures if candidate.quantiles]
        if bounds.size and mapped and not any(each[0].quantiles for each in found):
            found.append(Weighted(mapped[0], mixtures[mapped[0]], (0.0, 0.0)))
        return sorted(found, key=lambda each: -sum(each.weights))

    def _hide(
        self, rows: np.ndarray, random_state: np.random.RandomState
    ) -> list[np.ndarray]:
        """Return masks of cells to hide, categories as a whole: (rows, width) each."""
        missing = np.isnan(rows)
        n_hidden = max(1.0, _HIDDEN * np.count_nonzero(~missing))
        masks = []
        for _ in range(min(_MOST_ROUNDS, int(np.ceil(_ENOUGH_CELLS / n_hidden)))):
            hidden = random_state.rand(len(rows), len(self._inputs.table.columns))
            mask = (hidden < _HIDDEN)[:, self._inputs.sources] & ~missing
            # A row with nothing left in it is filled alike by all mixtures.
            mask[(mask | missing).all(1)] = False
            masks.append(mask)
        return masks

    def _standardise(self, encoded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bring numbers, and categories as a whole, to variance one; clip outliers."""
        counts = np.maximum((~np.isnan(encoded)).sum(0), 1)
        means = np.nansum(encoded, axis=0) / counts
        variances = np.nansum(np.square(encoded - means), axis=0) / counts
        totals = np.bincount(self._inputs.sources, variances)[self._inputs.sources]
        scale = np.sqrt(np.where(totals > 0, totals, 1.0))
        return (encoded / scale).clip(-_OUTLIER, _OUTLIER), scale

    def _fit_mixture(
        self,
        candidate: Candidate,
        mixture: IncompleteGaussianMixture,
        rows: np.ndarray,
        refine: Refine | None = None,
    ) -> MixtureDensity:
        """Fit a mixture, and make a density of it."""
        if candidate.quantiles:
            rows = self._to_quantiles(rows)
        width = len(self._inputs.sources)
        _, lower, upper = split_bounds(torch.from_numpy(rows), width)
        bounds: dict[str, Any] = {"lower": lower, "upper": upper}
        rows = rows[:, :width]
        with warnings.catch_warnings():
            # Filling is insensitive to the last digits of the likelihood. The encoder
            # has warned of columns without a value.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "Got (columns|categories) without")
            if self._inputs.sizes and not candidate.one_hot:
                sizes = self._inputs.sizes
                components = fit_mixed(mixture, rows, sizes, **bounds).components
                if refine is not None:
                    components = refine(mixture, components, candidate.quantiles)
                return build_density(components, gamma=self.gamma, trainable=False)
            mixture.fit(rows, **bounds)
            if refine is not None:
                refine(mixture, None, candidate.quantiles)
        return GaussianMixtureDensity.from_estimator(
            mixture, gamma=self.gamma, trainable=False, dtype=DTYPE
        )

    def _is_over(self, began: float, n_fitted: int, fraction: float = 1.0) -> bool:
        """Return whether there is no time for a further mixture, and warn of it."""
        limit = self.time_limit
        if not n_fitted or limit is None:
            return False
        over = time.monotonic() - began > fraction * limit
        if over:
            msg = (
                f"Got time_limit={limit}, which was over after {n_fitted} of the "
                f"mixtures: the others were left out. Raise it for better fills."
            )
            warn_user(msg)
        return over

    # --- filling

    def _fill(self, x: Tensor) -> Tensor:
        encoded = x.cpu().double().numpy()
        members = zip(self.densities_, self.on_quantiles_, strict=True)
        means = [self._means(density, mapped, encoded) for density, mapped in members]
        is_category = np.arange(means[0].shape[1]) >= self._inputs.n_numeric
        weights = self.weights_[:, None, is_category.astype(int)]  # (densities, 1, *)
        bounded = self._bounded(encoded)
        if bounded.any():
            n_more = len(is_category) - bounded.shape[1]
            padded = np.pad(bounded, ((0, 0), (0, n_more)))
            of_bounded = self._weights_of_bounded()[:, None, None]
            weights = np.where(padded, of_bounded, weights)
        return to_tensor((weights * means).sum(0), x.device)

    def _means(
        self, density: MixtureDensity, on_quantiles: bool, encoded: np.ndarray
    ) -> np.ndarray:
        """Fill encoded rows with conditional means inside the observed range."""
        means = self._complete(density, on_quantiles, encoded, lambda row: row.mean())
        low, high = self._encoded_limits()
        numbers = means[:, : self._inputs.n_numeric]
        bounded = self._bounded(encoded)  # which the range does not concern
        numbers[:] = np.where(bounded, numbers, numbers.clip(low, high))
        rows = np.flatnonzero(bounded.any(-1)) if bounded.ndim == 2 else ()
        if on_quantiles and len(rows):
            # A mean of quantiles is a median of values: below a limit, where a column
            # is all of its tail, not of the same mean.
            draws = self._complete(
                density, True, encoded[rows], lambda row: row.quasi_sample(_DRAWS)
            ).mean(0)[:, : numbers.shape[1]]
            numbers[rows] = np.where(bounded[rows], draws, numbers[rows])
        return means

    def _weights_of_bounded(self) -> np.ndarray:
        """Return the weights of the densities for bounded cells, (densities,).

        Those with numbers mapped to quantiles, if there are: these are quantiles of
        distributions that go on beyond a detection limit.
        """
        weights: np.ndarray = self.weights_.mean(1)
        if self.on_quantiles_.any():
            weights = np.where(self.on_quantiles_, np.maximum(weights, 1e-9), 0.0)
        return np.asarray(weights / weights.sum())

    def _bounded(self, encoded: np.ndarray) -> np.ndarray:
        """Return which numbers of encoded rows have bounds, (rows, numbers) or (1,)."""
        bounds = encoded[:, len(self._inputs.sources) :]
        if not bounds.size:
            return np.zeros(1, dtype=bool)
        lower, upper = np.hsplit(bounds, 2)
        return np.asarray(~(np.isnan(lower) & np.isnan(upper)))

    def _complete(
        self,
        density: MixtureDensity,
        on_quantiles: bool,
        encoded: np.ndarray,
        fill: Callable[[Any], Tensor],
    ) -> np.ndarray:
        """Fill encoded rows by a function of their conditional mixtures."""
        if on_quantiles:
            encoded = self._to_quantiles(encoded)
        x = to_tensor(encoded, next(density.parameters()).device)
        x, lower, upper = split_bounds(x, len(self._inputs.sources))
        given = density.condition(x, lower=lower, upper=upper)
        filled: np.ndarray = fill(given).cpu().double().numpy()
        if on_quantiles:
            filled = _map_numbers(
                self.quantiles_.inverse, self._inputs.n_numeric, filled
            )
        return filled

    def _to_quantiles(self, encoded: np.ndarray) -> np.ndarray:
        """Map the numbers of encoded rows, and their bounds."""
        mapped, n_numeric = encoded.copy(), self._inputs.n_numeric
        behind = range(len(self._inputs.sources), encoded.shape[1], max(1, n_numeric))
        for start in (0, *behind):
            block = mapped[:, start : start + n_numeric]
            block[:] = self.quantiles_.transform(block)
        return mapped

    def _draw(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """Draw inside the observed range, as far as a few attempts succeed."""
        draws = self._draw_once(x, n, generator)
        low, high = (to_tensor(end, x.device) for end in self._encoded_limits())
        missing = x[:, : len(low)].isnan()
        bounded = self._bounded(x.cpu().numpy())  # drawn between their bounds
        missing &= ~torch.from_numpy(bounded).to(x.device)
        for _ in range(_REDRAWS):
            numbers = draws[..., : len(low)]
            outside = (((numbers < low) | (numbers > high)) & missing).any(-1)
            rows = outside.any(0)
            if not rows.any():
                break
            again = self._draw_once(x[rows], n, generator)
            draws[:, rows] = torch.where(outside[:, rows, None], again, draws[:, rows])
        return draws

    def _draw_once(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """Draw from one of the densities for each row, (n, batch, features)."""
        encoded = x.cpu().double().numpy()
        drawn = [
            self._complete(
                density, mapped, encoded, lambda row: row.sample(n, generator)
            )
            for density, mapped in zip(self.densities_, self.on_quantiles_, strict=True)
        ]
        draws = to_tensor(np.stack(drawn), x.device)  # (densities, n, batch, features)
        if len(draws) == 1:
            return draws[0]
        weights = torch.from_numpy(self.weights_.mean(1)).to(x.device)
        chosen = torch.multinomial(
            weights, n * len(x), replacement=True, generator=generator
        ).view(1, n, len(x), 1)
        bounded = torch.from_numpy(self._bounded(encoded)).to(x.device).any(-1)
        if bool(bounded.any()):
            weights = torch.from_numpy(self._weights_of_bounded()).to(x.device)
            n_draws = n * int(bounded.sum())
            drawn_for = torch.multinomial(
                weights, n_draws, replacement=True, generator=generator
            )
            chosen[:, :, bounded] = drawn_for.view(1, n, -1, 1)
        return draws.take_along_dim(chosen, 0)[0]

    def _encoded_limits(self) -> np.ndarray:
        """Return the observed range on the scale of the encoded numbers, (2, *)."""
        ends = np.stack([self.limits_.low, self.limits_.high])
        return self._inputs.table.scaling.transform(ends)

    def _adjust(self, numbers: np.ndarray, bounds: Bounds | None) -> np.ndarray:
        low, high, whole = self.limits_
        capped = numbers.clip(low, high)
        if bounds is not None:
            bounded = ~(np.isnan(bounds.lower) & np.isnan(bounds.upper))
            capped = np.where(bounded, numbers, capped)
        rounded = np.where(whole, capped.round(), capped)
        return super()._adjust(rounded, bounds)

    # --- saving

    def _networks(self) -> nn.Module:
        return nn.ModuleList(self.densities_)

    def _pack(self) -> dict[str, Any]:
        return {
            "densities": [ViewShape.of(d).to_state() for d in self.densities_],
            "weights": self.weights_.tolist(),
            "on_quantiles": self.on_quantiles_.tolist(),
            "quantiles": self.quantiles_.to_state(),
            "limits": [each.tolist() for each in self.limits_],
        }

    def _shapes(self, content: Mapping[str, Any]) -> list[ViewShape]:
        return [ViewShape.from_state(state) for state in content["densities"]]

    def _check_columns(self, shape: ViewShape) -> None:
        if shape.sizes or not self._inputs.sizes:
            super()._check_columns(shape)
        else:  # categories are one-hot numbers
            check_agreement(columns=(shape.n_numeric, len(self._inputs.sources)))

    def _unpack(self, content: Mapping[str, Any]) -> None:
        shapes = self._shapes(content)
        self.densities_ = [s.build_density().requires_grad_(False) for s in shapes]
        self.density_ = self.densities_[0]
        self.weights_ = np.array(content["weights"], dtype=np.float64)
        self.on_quantiles_ = np.array(content["on_quantiles"], dtype=bool)
        n_numeric = self._inputs.n_numeric
        self.quantiles_ = scaling_from_state(content["quantiles"], n_numeric)
        low, high, whole = content["limits"]
        ends = np.array([low, high], dtype=np.float64)
        self.limits_ = Limits(ends[0], ends[1], np.array(whole, dtype=bool))
        check_agreement(
            weights=(self.weights_.shape, (len(shapes), 2)),
            on_quantiles=(self.on_quantiles_.shape, (len(shapes),)),
            limits=((*ends.shape, len(whole)), (2, n_numeric, n_numeric)),
        )


def _map_numbers(
    function: Callable[[np.ndarray], np.ndarray], n_numeric: int, encoded: np.ndarray
) -> np.ndarray:
    """Apply a function to the numbers of encoded rows, (*, width)."""
    mapped = encoded.reshape(-1, encoded.shape[-1]).copy()
    numbers = mapped[:, :n_numeric]
    numbers[:] = function(numbers)
    return mapped.reshape(encoded.shape)


def _find_limits(encoder: TableEncoder, table: Any) -> Limits:
    """Measure the numbers of the training table, in their own units."""
    numbers = encoder.numbers_of(table)
    # NaN in columns without a value, which are never filled.
    low, high = (np.nan_to_num(end.reduce(numbers)) for end in (np.fmin, np.fmax))
    whole = (np.isnan(numbers) | (numbers == numbers.round())).all(0)
    kinds = [encoder.columns[i].kind for i in encoder.sources[: encoder.n_numeric]]
    return Limits(low, high, whole & (np.array(kinds) == "number"))


def _candidates_for(width: int, *, quantiles: bool) -> list[Candidate]:
    """Return the candidates for encoded rows of this width, each once."""
    affordable = [
        candidate._replace(covariance_type="factor")
        if candidate.covariance_type == "full"
        and candidate.n_components * width**2 > _LARGEST_FULL
        else candidate
        for candidate in _CANDIDATES
        if quantiles or not candidate.quantiles
    ]
    return list(dict.fromkeys(affordable))


def _mixture_of(
    candidate: Candidate, rows: np.ndarray, seed: int
) -> IncompleteGaussianMixture:
    """Return a mixture that goes on where its last fit has ended."""
    n_distinct = len(np.unique(np.where(np.isnan(rows), np.inf, rows), axis=0))
    return IncompleteGaussianMixture(
        max(1, min(candidate.n_components, n_distinct // 10)),
        covariance_type=candidate.covariance_type,
        reg_covar=candidate.reg_covar,
        max_iter=_ITERATIONS,
        tol=_TOLERANCE,
        warm_start=True,
        random_state=seed,
    )


def _stack(filled: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the weights, of sum one, whose mean comes closest to what was hidden.

    ``filled`` is (cells, candidates).
    """
    n_cells, n_candidates = filled.shape
    least = np.square(filled - observed[:, None]).sum(0).min()
    total, pull = 1e3 * np.sqrt(n_cells), np.sqrt(_PULL * least)
    equations = np.vstack(
        [filled, np.full((1, n_candidates), total), pull * np.eye(n_candidates)]
    )
    even = np.full(n_candidates, pull / n_candidates)
    weights, _ = nnls(equations, np.concatenate([observed, [total], even]))
    weights[weights < _LEAST_WEIGHT * weights.sum()] = 0.0
    return np.asarray(weights / weights.sum())
