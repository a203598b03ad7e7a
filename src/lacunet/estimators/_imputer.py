"""Imputation: mixtures, weighted by how well they fill cells hidden from them."""

import copy
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lacunet._random import torch_generator
from lacunet.density import (
    GaussianMixtureDensity,
    IncompleteGaussianMixture,
    MixtureDensity,
    fit_mixed,
)
from lacunet.estimators._base import DensityEstimator, FillingMixin
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
    Scaling,
    TableEncoder,
    fit_scaling,
    scaling_from_state,
)
from lacunet.estimators._fit import Refine, to_tensor
from lacunet.estimators._generating import TableForm
from lacunet.estimators._mixtures import (
    PLAIN,
    Candidate,
    HiddenCells,
    Member,
    find_bounded,
    list_candidates,
    make_mixture,
    map_numbers,
)
from lacunet.estimators._sampling import canonical_order
from lacunet.estimators._saving import check_agreement
from lacunet.estimators._stream import Blocks, RowCoder, TargetCode, refine_over
from lacunet.estimators._views import ViewShape
from lacunet.exceptions import warn_user


class Limits(NamedTuple):
    """What the observed values of each numeric column have in common, (columns,)."""

    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray  # whether all are whole numbers, bool


_MOST_ROWS = 10_000
_FEWEST_ROWS = 10
# Error, relative to the least, from which on more components are not tried.
_HOPELESS = 1.03
# Pull of the weights towards equal ones, in squared errors of the best candidate, and
# the least weight that is kept.
_PULL = 0.02
_LEAST_WEIGHT = 0.05
# To draw: EM ends when an iteration gains less, in the log likelihood of all rows (a
# hundredth is an error of a seventh of a standard error); parameters that are kept; and
# draws of a hidden cell, by which the mixture is chosen.
_GAIN = 0.01
_ITERATIONS_TO_DRAW = 100
_MOST_PARAMETERS = 100
_DRAWS_TO_CHOOSE = 32
# A column of whole numbers whose largest exceeds its smallest by no more is a scale:
# nothing is drawn outside of it.
_SCALE = 10


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetImputer(FillingMixin, DensityEstimator):
    """Fill tables of numbers, categories and dates from mixtures fitted by EM.

    With ``density="auto"`` several mixtures are fitted after some observed cells were
    hidden from them: one full Gaussian, a factor analyser, a dozen diagonal components,
    two and four full ones; the full ones also with numbers mapped to quantiles of the
    normal distribution, for skewed columns. The weights with which their conditional
    means come closest to the hidden cells are the weights in ``transform``; mixtures
    of little weight are dropped, the others are fitted again to all cells.

    What is filled in looks like what was observed: numbers and dates stay inside the
    range of training, and a column whose observed values are all whole numbers (0 and
    1, counts, years) or days gets whole ones. That costs a little in squared error, for
    which 0.4 is the better guess of a 0 or 1, and gains in absolute error.

    Draws (``sample_imputations``) are of the kind of their column too, but are not
    capped at the observed range, which would bias what is computed from them: where
    values are missing at random, those that are missing may well be larger than those
    that are not. See there.

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
    shift : float or dict, default=0.0
        By how many standard deviations of its column what is filled in lies above (or,
        if negative, below) what the mixtures predict, for values that are not missing
        at random: those who earn much may be those who do not answer. One number for
        all columns of numbers, or a dict of numbers by the name of a column (or its
        index, for an array). The data can't tell how large it is: try several and see
        whether a conclusion changes. It may be changed on a fitted model. The observed
        range does not limit what is shifted, but the kind of a column does, as for
        draws; categories and dates are never shifted.
    keep_rows : bool, default=True
        Whether to keep the encoded rows of training (at most 10,000, in single
        precision), also in a saved model. ``sample_imputations`` needs them for the
        uncertainty of the parameters. Without, draws vary too little.
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
        Their weights for numbers (and dates) and for categories, which sum to one.
    on_quantiles_ : ndarray of bool of shape (n_densities,)
        Whether the numbers of a density are mapped to normal quantiles first.
    quantiles_ : object
        That map, of the encoded numbers.
    limits_ : tuple of ndarray
        Smallest and largest observed value of each column of numbers or dates (in days
        since the first), and whether all are whole. A model saved by 0.1.0 neither caps
        nor rounds: it has the smallest and largest floats.
    deviations_ : ndarray
        Standard deviation of each column of numbers or dates, the unit of ``shift``.
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
    shift: Any = 0.0
    keep_rows: bool = True
    time_limit: float | None = None
    verbose: int = 0
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    random_state: Any = None
    _clipped_at: ClassVar[float] = FOR_TABLES

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
        numbers = encoder.numbers_of(table)
        self.limits_ = _find_limits(numbers)
        self.deviations_ = _find_deviations(numbers)
        self._find_shift()
        missing = np.isnan(encoded[:, encoder.starts])
        self._form = TableForm.of(missing, table)
        placed = encoder.place_bounds(table, bounds)
        rows = self._inputs.add_marks(encoded, bounds=placed, farthest=FOR_TABLES)
        measured = rows[:, : encoder.n_numeric]
        if placed is not None:
            scaled = encoder.scaling.transform(fill_bounded(numbers, *placed))
            measured = np.where(np.isnan(measured), scaled, measured)
        self.quantiles_ = fit_scaling(measured, "quantile")
        rows = rows[canonical_order(rows)]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._seed = seed
        if self.keep_rows:
            some = some_rows(rows, seed, _MOST_ROWS).astype(np.float32)
            self._rows = torch.from_numpy(some)
            # What tables are drawn from, by number; copies of the model share it.
            self._fits: dict[int, Any] = {}
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
            found = [(PLAIN, given, (1.0, 1.0))]
        else:
            found = self._weigh(rows, seed, began)
            rows = some_rows(rows, seed, _MOST_ROWS)
        self.densities_: list[MixtureDensity] = []
        for candidate, mixture, _ in found:
            if self._is_over(began, len(self.densities_)):
                break
            member = self._fit_member(candidate, mixture, rows, refine=refine)
            self.densities_.append(member.density)
        self.density_ = self.densities_[0]
        kept = found[: len(self.densities_)]
        self.on_quantiles_ = np.array([each[0].quantiles for each in kept])
        self.weights_ = np.array([each[2] for each in kept])
        self.weights_ /= self.weights_.sum(0)

    def _fit_blocks(self, blocks: Blocks) -> None:
        """Fit to a table in blocks: weights to a sample, mixtures to all rows."""
        self._begin()
        summary, encoder = self._describe_blocks(blocks)
        nothing = np.empty(0, dtype=np.intp)
        self._inputs = InputEncoder(encoder, nothing, smooth=False)
        self.limits_ = Limits(summary.low, summary.high, summary.whole)
        self.deviations_ = _find_deviations(summary.values)
        self._find_shift()
        scaled = encoder.scaling.transform(summary.values)
        values = self._inputs.add_marks(scaled, farthest=FOR_TABLES)
        self.quantiles_ = fit_scaling(values[:, : encoder.n_numeric], "quantile")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        seed = self._seed = blocks.begin(seed)
        coder = RowCoder(self._inputs, TargetCode(), 1, seed, farthest=FOR_TABLES)
        scan = blocks.scan(coder, [])
        refine = partial(refine_over, blocks, coder, scan.n_rows)
        rows = scan.sample.x.astype(np.float64)
        missing = np.isnan(rows[:, encoder.starts])
        self._form = TableForm.of(missing, backend="pyarrow")
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

    def sample_imputations(
        self, X: Any, n: int = 5, *, lower: Any = None, upper: Any = None
    ) -> list[Any]:
        """Fill missing values ``n`` times with draws, for multiple imputation.

        Each table is drawn from a mixture with parameters of its own, fitted to a
        bootstrap sample of the rows of training: so tables differ as much as the
        missing values are uncertain, and intervals by Rubin's rules
        (:func:`lacunet.inspection.pool`) cover, where values are missing at random.

        The mixture is the simplest one of those of "auto" whose draws of hidden cells
        are within a standard error of the best ones, not the mean over several that
        ``transform`` fills with. It is chosen in the first call, which takes about as
        long as ``fit``; each table then takes a few iterations of EM.

        A draw is of the kind of its column. A column of whole numbers gets whole
        numbers; one of whole numbers that are at most 10 apart (0 and 1, a scale from
        1 to 5), of dates or of a single value stays inside of its range; one without
        negative values gets none, and one of positive values none below half of the
        smallest. Else draws may lie outside of the observed range.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values. Usually that of
            training: a table that is analysed should be in ``fit``, with its target.
        n : int, default=5
            Number of completed tables. 20 are a good choice for half of a column.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``; draws lie between them.

        Returns
        -------
        list of array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged in each. The i-th tables
            of two calls have the same parameters, so that a table can be completed in
            pieces; after a hundred they come again.

        Warns
        -----
        UserWarning
            If there are no rows of training to fit to: with ``keep_rows=False``, for a
            model that an earlier version has saved, or one that was fitted over files.
            Then all tables have the same parameters, and intervals are too narrow.

        Examples
        --------
        The mean of a column of which half is missing:

        >>> import numpy as np
        >>> from lacunet import LacunetImputer
        >>> from lacunet.inspection import pool
        >>> rng = np.random.RandomState(0)
        >>> x = rng.randn(200)
        >>> X = np.column_stack([x, x + rng.randn(200)])
        >>> X[rng.rand(200) < 0.5, 1] = np.nan
        >>> tables = LacunetImputer(random_state=0).fit(X).sample_imputations(X, 10)
        >>> means = [table[:, 1].mean() for table in tables]
        >>> variances = [table[:, 1].var() / len(X) for table in tables]
        >>> pooled = pool(means, variances, df_complete=len(X) - 1)
        >>> pooled.low < 0 < pooled.high
        True
        """
        check_is_fitted(self)
        if not hasattr(self, "_rows"):
            msg = (
                "Got a model without the rows of training, so all tables are drawn "
                "with the same parameters: intervals that are pooled from them are too "
                "narrow. Fit it with keep_rows=True, to a table rather than to files."
            )
            warn_user(msg)
        return super().sample_imputations(X, n, lower=lower, upper=upper)

    def _draw_tables(
        self,
        x: Tensor,
        table: Any,
        n: int,
        generator: torch.Generator,
        bounds: Bounds | None = None,
    ) -> list[Any]:
        return [
            self._draw_table(x, table, number, generator, bounds) for number in range(n)
        ]

    def _draw_new(self, x: Tensor, table: Any, generator: torch.Generator) -> Any:
        unmoved = copy.copy(self).set_params(shift=0.0)
        return unmoved._draw_table(x, table, -1, generator, None)

    def _draw_table(
        self,
        x: Tensor,
        table: Any,
        number: int,
        generator: torch.Generator,
        bounds: Bounds | None,
    ) -> Any:
        members = self._members(number)
        with torch.inference_mode():
            found = [
                self._draw_rows(block, members, generator)
                for block in self._blocks(x, 4)
            ]
        draws, means, places = map(np.concatenate, zip(*found, strict=True))
        return self._restore_draws(draws, means, places, table, bounds)

    # --- fitting

    def _weigh(self, rows: np.ndarray, seed: int, began: float) -> list[Any]:
        """Return mixtures that fill hidden cells well, the best one first."""
        random_state = np.random.RandomState(seed)
        hidden = HiddenCells(self._inputs, rows, random_state)
        if len(rows) < _FEWEST_ROWS or not len(hidden.values):
            return [(PLAIN, make_mixture(PLAIN, hidden.rows, seed), (1.0, 1.0))]
        mixtures: dict[Candidate, IncompleteGaussianMixture] = {}
        filled: list[np.ndarray] = []
        errors: dict[Candidate, float] = {}
        mappable = self._inputs.n_numeric > 0 and self.scale != "quantile"
        width = len(self._inputs.sources)
        for candidate in list_candidates(width, quantiles=mappable):
            if self._is_over(began, len(mixtures), fraction=0.5):
                break
            if candidate.n_components == 4:
                # Where two components have paid, and only on the better scale.
                of_two = {c.quantiles: e for c, e in errors.items() if c[1] == 2}
                best = min(*of_two.values(), _HOPELESS * min(errors.values()))
                if of_two[candidate.quantiles] > best:
                    continue
            cells = []
            for mask, incomplete in hidden:
                mixture = make_mixture(candidate, incomplete[:, :width], seed)
                member = self._fit_member(candidate, mixture, incomplete)
                with torch.inference_mode():
                    means = member.means(incomplete, self._encoded_limits())
                cells.append(hidden.pick(means, mask))
            mixtures[candidate] = mixture
            filled.append(np.concatenate(cells))
            squares = np.square(filled[-1] - hidden.values)
            errors[candidate] = float(np.sqrt(squares.mean()))
        numbers = hidden.columns < self._inputs.n_numeric
        # Where there is but one kind, its weights are those of both.
        kinds = [kind if kind.any() else ~kind for kind in (numbers, ~numbers)]
        stacked = np.stack(filled, 1)
        pairs = [(stacked[kind], hidden.values[kind]) for kind in kinds]
        weights = [_stack(*pair).tolist() for pair in pairs]
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
                found.append((candidate, mixture, (pair[0], pair[1])))
        mapped = [candidate for candidate in mixtures if candidate.quantiles]
        if (
            hidden.has_bounds
            and mapped
            and not any(each[0].quantiles for each in found)
        ):
            found.append((mapped[0], mixtures[mapped[0]], (0.0, 0.0)))
        return sorted(found, key=lambda each: -sum(each[2]))

    def _fit_member(
        self,
        candidate: Candidate,
        mixture: IncompleteGaussianMixture,
        rows: np.ndarray,
        quantiles: Scaling | None = None,
        refine: Refine | None = None,
    ) -> Member:
        quantiles = (quantiles or self.quantiles_) if candidate.quantiles else None
        if quantiles is not None:
            rows = map_numbers(quantiles.transform, self._inputs, rows)
        width, sizes = len(self._inputs.sources), self._inputs.sizes
        _, lower, upper = split_bounds(torch.from_numpy(rows), width)
        bounds: dict[str, Any] = {"lower": lower, "upper": upper}
        rows = rows[:, :width]
        components: Any = None
        mixed = bool(sizes) and not candidate.one_hot
        with warnings.catch_warnings():
            # Filling is insensitive to the last digits of the likelihood. The encoder
            # has warned of columns without a value.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "Got (columns|categories) without")
            if mixed:
                components = fit_mixed(mixture, rows, sizes, **bounds).components
            else:
                mixture.fit(rows, **bounds)
            if refine is not None:
                see = None
                if quantiles is not None:
                    see = partial(map_numbers, quantiles.transform, self._inputs)
                components = refine(mixture, components, see)
        how: dict[str, Any] = {"gamma": self.gamma, "trainable": False}
        density: MixtureDensity
        if mixed:
            density = build_density(components, **how)
        else:
            density = GaussianMixtureDensity.from_estimator(mixture, dtype=DTYPE, **how)
        density.to(find_device(self.device))
        return Member(self._inputs, density, quantiles)

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
        ends = self._encoded_limits()
        means = [member.means(encoded, ends) for member in self._list_members()]
        is_category = np.arange(means[0].shape[1]) >= self._inputs.n_numeric
        weights = self.weights_[:, None, is_category.astype(int)]  # (densities, 1, *)
        bounded = find_bounded(self._inputs, encoded)
        if bounded.any():
            n_more = len(is_category) - bounded.shape[1]
            padded = np.pad(bounded, ((0, 0), (0, n_more)))
            of_bounded = self._weights_of_bounded()[:, None, None]
            weights = np.where(padded, of_bounded, weights)
        return to_tensor((weights * means).sum(0), x.device)

    def _weights_of_bounded(self) -> np.ndarray:
        """Return the weights of the densities for bounded cells, (densities,).

        Those with numbers mapped to quantiles, if there are: these are quantiles of
        distributions that go on beyond a detection limit.
        """
        weights: np.ndarray = self.weights_.mean(1)
        if self.on_quantiles_.any():
            weights = np.where(self.on_quantiles_, np.maximum(weights, 1e-9), 0.0)
        return np.asarray(weights / weights.sum())

    def _log_prob(self, x: Tensor) -> Tensor:
        """Return the log-likelihood of the mixtures together, by their weights."""
        scores = [member.log_prob(x) for member in self._list_members()]
        weights = torch.from_numpy(self.weights_.mean(1))
        return (torch.stack(scores, 1) + (weights / weights.sum()).log()).logsumexp(1)

    def _list_members(self) -> list[Member]:
        pairs = zip(self.densities_, self.on_quantiles_, strict=True)
        return [
            Member(self._inputs, density, self.quantiles_ if mapped else None)
            for density, mapped in pairs
        ]

    # --- drawing

    def _draw_rows(
        self, x: Tensor, members: Sequence[Member], generator: torch.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw each row from one of the members, by their weights: (rows, width) each.

        Returns what :meth:`Member.draw` does, for a single draw.
        """
        found = [member.draw(x, 1, generator) for member in members]
        draws, means, places = (np.stack(each) for each in zip(*found, strict=True))
        chosen = np.zeros(len(x), dtype=np.intp)
        if len(members) > 1:
            of_members = self.weights_.mean(1)
            if x.shape[1] > len(self._inputs.sources):
                of_members = self._weights_of_bounded()
            weights = torch.from_numpy(of_members).to(x.device)
            index = torch.multinomial(
                weights, len(x), replacement=True, generator=generator
            )
            chosen = index.cpu().numpy()
        rows = np.arange(len(x))
        return draws[chosen, 0, rows], means[chosen, rows], places[chosen, 0, rows]

    def _members(self, number: int) -> Sequence[Member]:
        """Return what the table of this number is drawn from; -1 for new rows."""
        if not hasattr(self, "_rows"):
            return self._list_members()
        number = number % _MOST_PARAMETERS if number >= 0 else number
        if -1 not in self._fits:
            self._fits[-1] = self._choose_parameters(self._rows.double().numpy())
        if number not in self._fits:
            candidate, mixture, _ = self._fits[-1]
            mixture = copy.deepcopy(mixture)
            # By its number: threads that fit the same one find the same.
            random_state = np.random.RandomState([self._seed, number])
            chosen = random_state.randint(len(self._rows), size=len(self._rows))
            sample = self._rows.double().numpy()[chosen]
            drawn = self._fit_to_draw(candidate, mixture, sample)
            self._fits[number] = candidate, mixture, drawn
        return [self._fits[number][2]]

    def _fit_to_draw(
        self,
        candidate: Candidate,
        mixture: IncompleteGaussianMixture,
        rows: np.ndarray,
    ) -> Member:
        """Fit a mixture, and the map to quantiles, to a bootstrap sample."""
        quantiles = None  # those of training, which know of values beyond bounds
        if candidate.quantiles and rows.shape[1] == len(self._inputs.sources):
            quantiles = fit_scaling(rows[:, : self._inputs.n_numeric], "quantile")
        member = self._fit_member(candidate, mixture, rows, quantiles)
        n_observed = (~np.isnan(rows[:, : len(self._inputs.sources)])).sum(0)
        return replace(member, mixture=mixture, n_observed=n_observed)

    def _choose_parameters(
        self, rows: np.ndarray
    ) -> tuple[Candidate, IncompleteGaussianMixture, Member]:
        """Fit the mixture that was given, or the simplest that draws hidden cells well.

        Weights that are best for means are not for draws, which have to vary as values
        do: many diagonal components may come close to a cell, but their draws make a
        dependence between columns weaker than it is.
        """
        seed, encoded = self._seed, rows[:, : len(self._inputs.sources)]
        if isinstance(self.density, IncompleteGaussianMixture):
            candidate, mixture = PLAIN, clone(self.density)
            if mixture.random_state is None:
                mixture.set_params(random_state=seed)
        elif len(rows) < _FEWEST_ROWS:
            candidate, mixture = PLAIN, make_mixture(PLAIN, encoded, seed)
        else:
            candidate = self._choose_candidate(rows, seed)
            mixture = make_mixture(candidate, encoded, seed)
        mixture.set_params(
            warm_start=True,
            accelerate=True,
            tol=min(mixture.tol, _GAIN / len(rows)),
            max_iter=max(mixture.max_iter, _ITERATIONS_TO_DRAW),
        )
        return candidate, mixture, self._fit_member(candidate, mixture, rows)

    def _choose_candidate(self, rows: np.ndarray, seed: int) -> Candidate:
        """Return the first candidate within a standard error of the best one.

        Measured by the continuous ranked probability score of draws of hidden cells.
        """
        random_state = np.random.RandomState(seed)
        hidden = HiddenCells(self._inputs, rows, random_state)
        width = len(self._inputs.sources)
        mappable = self._inputs.n_numeric > 0 and self.scale != "quantile"
        candidates = list_candidates(width, quantiles=mappable)
        # The first is full, or of factors where there are too many columns.
        alike = candidates[0].covariance_type
        candidates = [each for each in candidates if each.covariance_type == alike]
        if hidden.has_bounds:  # quantiles go on beyond a detection limit
            candidates = [c for c in candidates if c.quantiles] or candidates
        if not len(hidden.values):  # there is one column: its own quantiles are at hand
            return ([c for c in candidates if c.quantiles] or candidates)[0]
        generator = torch_generator(random_state)
        scores: dict[Candidate, np.ndarray] = {}
        for candidate in candidates:
            if candidate.n_components == 4:
                # Where two components have paid, and on the better scale.
                best = min(scores, key=lambda each: float(scores[each].mean()))
                if best.n_components == 1 or best.quantiles != candidate.quantiles:
                    continue
            cells = []
            for mask, incomplete in hidden:
                mixture = make_mixture(candidate, incomplete[:, :width], seed)
                mixture.set_params(accelerate=True, tol=1e-3, max_iter=50)
                member = self._fit_to_draw(candidate, mixture, incomplete)
                of_mask = mask.any(1)
                x = to_tensor(incomplete[of_mask], member.device)
                with torch.inference_mode():
                    draws, *_ = member.draw(x, _DRAWS_TO_CHOOSE, generator)
                cells.append(hidden.pick(draws, mask[of_mask]))
            drawn = np.concatenate(cells, 1)
            scores[candidate] = _ranked_probability_score(drawn, hidden.values)
        best = min(scores, key=lambda each: float(scores[each].mean()))
        near = []
        for candidate, score in scores.items():
            worse = score - scores[best]
            if worse.mean() <= worse.std() / np.sqrt(len(worse)):
                near.append(candidate)
        return near[0]

    # --- restoring

    def _encoded_limits(self) -> np.ndarray:
        """Return the observed range on the scale of the encoded numbers, (2, *)."""
        ends = np.stack([self.limits_.low, self.limits_.high])
        return self._inputs.table.scaling.transform(ends)

    def _adjust(self, numbers: np.ndarray, bounds: Bounds | None) -> np.ndarray:
        low, high, whole = self.limits_
        shift = self._find_shift()
        capped = numbers.clip(low, high)
        moved = self._keep_kind(capped + shift)
        moved = np.where(shift == 0, np.where(whole, capped.round(), capped), moved)
        return self._keep_bounded(moved, numbers, bounds)

    def _keep_bounded(
        self, kept: np.ndarray, numbers: np.ndarray, bounds: Bounds | None
    ) -> np.ndarray:
        """Put those that have bounds between them, whatever the observed range is."""
        if bounds is None:
            return kept
        whole = self.limits_.whole
        lower, upper = np.ceil(bounds.lower), np.floor(bounds.upper)
        whole = whole & ~(lower > upper)  # unless there is none between
        ends = np.where(whole, (lower, upper), bounds)
        rounded = np.where(whole, numbers.round(), numbers)
        inside = np.fmin(np.fmax(rounded, ends[0]), ends[1])
        return np.where(np.isnan(bounds).all(0), kept, inside)

    def _restore_draws(
        self,
        draws: np.ndarray,
        means: np.ndarray,
        places: np.ndarray,
        table: Any,
        bounds: Bounds | None,
    ) -> Any:
        """Bring draws to the units and the kind of each column."""
        low, high, whole = self.limits_
        shift = self._find_shift()
        numeric = slice(self._inputs.n_numeric)
        means = self._inputs.table.scaling.inverse(means[:, numeric])

        def adjust(numbers: np.ndarray) -> np.ndarray:
            moved = self._keep_kind(numbers + shift)
            # Of two values, the mean is the probability of the larger one.
            larger = places[:, numeric] > 1.0 - (means + shift - low)
            binary = whole & (low < high) & self._is_within(1)
            drawn = np.where(binary, low + larger, moved)
            return self._keep_bounded(drawn, numbers, bounds)

        return self._inputs.table.restore(draws, table, adjust)

    def _keep_kind(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers of the kind of each column: whole, of a scale, positive."""
        low, high, whole = self.limits_
        columns = self._inputs.table.columns
        sources = self._inputs.sources[: self._inputs.n_numeric]
        is_date = np.array([columns[i].kind == "date" for i in sources], dtype=bool)
        bounded = is_date | (whole & self._is_within(_SCALE)) | (high == low)
        numbers = np.where(whole, numbers.round(), numbers)
        numbers = np.where(bounded, numbers.clip(low, high), numbers)
        # Positive, and the lower the lower they were.
        least = np.where(whole, np.ceil(low / 2), low / 2)
        return np.where(low >= 0, np.maximum(numbers, least), numbers)

    def _is_within(self, width: float) -> np.ndarray:
        """Return whether the values of a column are so close together."""
        low, high, _ = self.limits_  # whose difference may overflow
        return np.asarray(high / 2 - low / 2 <= width / 2)

    def _find_shift(self) -> np.ndarray:
        """Return the shift of each column of numbers and dates, in its own units."""
        columns = self._inputs.table.columns
        numbers = {column.name for column in columns if column.kind == "number"}
        shift = self.shift
        given = shift if isinstance(shift, Mapping) else dict.fromkeys(numbers, shift)
        others = [name for name in given if name not in numbers]
        if others:
            kinds = {column.name: column.kind for column in columns}
            kind = kinds.get(others[0], "")
            wrong = f"a column of kind {kind!r}" if kind else "no column of training"
            msg = (
                f"Got shift={shift!r}, but expected names of columns of numbers: "
                f"{others[0]!r} is {wrong}."
            )
            raise ValueError(msg)
        sources = self._inputs.sources[: self._inputs.n_numeric]
        names = [columns[index].name for index in sources]
        factors = np.array([given.get(name, 0.0) for name in names], dtype=np.float64)
        return np.asarray(factors * self.deviations_)

    # --- saving

    def _networks(self) -> nn.Module:
        return nn.ModuleList(self.densities_)

    def _tensors(self) -> dict[str, Tensor]:
        rows = {"rows": self._rows} if hasattr(self, "_rows") else {}
        return super()._tensors() | rows

    def _load(self, tensors: dict[str, Tensor], content: Mapping[str, Any]) -> None:
        rows = tensors.pop("rows", None)
        super()._load(tensors, content)
        if rows is not None:
            width = len(self._inputs.sources)
            # Perhaps with lower and upper bounds behind.
            widths = (width, width + 2 * self._inputs.n_numeric)
            check_agreement(rows=(rows.ndim == 2 and rows.shape[1] in widths, True))
            self._rows, self._fits = rows, {}

    def _pack(self) -> dict[str, Any]:
        return {
            "densities": [ViewShape.of(d).to_state() for d in self.densities_],
            "weights": self.weights_.tolist(),
            "on_quantiles": self.on_quantiles_.tolist(),
            "quantiles": self.quantiles_.to_state(),
            "limits": [each.tolist() for each in self.limits_],
            "deviations": self.deviations_.tolist(),
            "seed": self._seed,
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
        if "deviations" in content:
            self.deviations_ = np.array(content["deviations"], dtype=np.float64)
        else:  # of an earlier version: half of what is two units apart
            sides = np.array([[-1.0], [1.0]]) * np.ones(n_numeric)
            self.deviations_ = (
                np.diff(self._inputs.table.scaling.inverse(sides), axis=0)[0] / 2
            )
        self._seed = int(content.get("seed", 0))
        self._find_shift()
        check_agreement(
            deviations=(len(self.deviations_), n_numeric),
            weights=(self.weights_.shape, (len(shapes), 2)),
            on_quantiles=(self.on_quantiles_.shape, (len(shapes),)),
            limits=((*ends.shape, len(whole)), (2, n_numeric, n_numeric)),
        )


def _find_deviations(numbers: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, 0 without a value."""
    largest = np.fmax.reduce(np.abs(numbers), initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows
    scaled = numbers / unit
    counts = np.maximum((~np.isnan(scaled)).sum(0), 1)
    squares = np.square(scaled - np.nansum(scaled, axis=0) / counts)
    return np.asarray(unit * np.sqrt(np.nansum(squares, axis=0) / counts))


def _find_limits(numbers: np.ndarray) -> Limits:
    """Measure the numbers of the training table, in their own units."""
    # NaN in columns without a value, which are never filled.
    low, high = (np.nan_to_num(end.reduce(numbers)) for end in (np.fmin, np.fmax))
    whole = (np.isnan(numbers) | (numbers == numbers.round())).all(0)
    return Limits(low, high, whole)


def _ranked_probability_score(draws: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the score of each cell by draws of it, (draws, cells): less is better."""
    n = len(draws)
    ordered = np.sort(draws, axis=0)
    factors = (2 * np.arange(n) - n + 1)[:, None]
    half_difference = (factors * ordered).sum(0) / (n * (n - 1))
    return np.asarray(np.abs(draws - observed).mean(0) - half_difference)


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
