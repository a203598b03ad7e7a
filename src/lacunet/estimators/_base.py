"""What the estimators share: a density of tables, networks behind it, saving."""

import copy
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lacunet._random import torch_generator
from lacunet._validation import check_positive_int
from lacunet._versions import find_versions
from lacunet.density import (
    MixtureDensity,
)
from lacunet.estimators._checks import (
    CheckedEstimator,
    check_parameters,
    check_prediction_parameters,
    find_device,
    read_bounds,
    read_table,
)
from lacunet.estimators._densities import Watch, split_bounds
from lacunet.estimators._encoding import (
    FOR_NETWORKS,
    FOR_TABLES,
    Bounds,
    InputEncoder,
    TableEncoder,
    choose_bounded,
    choose_marked,
)
from lacunet.estimators._fit import (
    Criterion,
    Folds,
    Samples,
    Setting,
    build_views,
    count_networks,
    fit_views,
    make_folds,
    make_task,
    to_tensor,
    undisturbed,
)
from lacunet.estimators._generating import TableForm
from lacunet.estimators._recipe import RECIPE
from lacunet.estimators._sampling import canonical_order, repeat_rows
from lacunet.estimators._saving import (
    AnyPath,
    CheckpointFile,
    check_agreement,
    name_owner,
    pack_array,
    pack_parameters,
    unpack_array,
    unpack_parameters,
    write_model,
)
from lacunet.estimators._stream import (
    Blocks,
    RowCoder,
    TableSummary,
    TargetCode,
    ViewJob,
    is_of_copies,
    join_histories,
    refine_over,
)
from lacunet.estimators._views import (
    NUMBERS_AT_ONCE,
    BodyShape,
    ViewEnsemble,
    ViewShape,
    find_bins,
    find_grid,
)
from lacunet.exceptions import warn_user
from lacunet.functional import ConditionalMixture
from lacunet.training import Epoch

# Numbers that a block of rows may hold at once in a layer: 64 MB in single precision.
BLOCK_BUDGET = 2**24
# What is learned beside the attributes that end in an underscore.
_LEARNED = (
    "_calibration",
    "_fits",
    "_fitted_body",
    "_flat",
    "_form",
    "_inputs",
    "_most_missing",
    "_rows",
    "_scale",
    "_seed",
)


class DensityEstimator(CheckedEstimator):
    """Base of all estimators: what can be done with a density of the encoded table."""

    density_: MixtureDensity
    _inputs: InputEncoder
    _form: TableForm | None = None  # in models of earlier versions
    _clipped_at: ClassVar[float] = FOR_NETWORKS  # numbers, in training

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a density."""
        return hasattr(self, "density_")

    def _begin(self) -> float:
        """Check the parameters, and forget what was learned before: all or nothing.

        A whole model is kept with ``warm_start``. Returns the time, which
        ``time_limit`` is counted from.
        """
        began = time.monotonic()
        check_parameters(self)
        warm = getattr(self, "warm_start", False) and hasattr(self, "module_")
        for name in [*vars(self)]:
            if not warm and (name.endswith("_") or name in _LEARNED):
                delattr(self, name)
        return began

    def _describe_blocks(self, blocks: Blocks) -> tuple[TableSummary, TableEncoder]:
        """Return what there is in a table in blocks, and an encoder of it."""
        self.feature_names_in_ = np.array(blocks.names, dtype=object)
        self.n_features_in_ = len(blocks.names)
        summary = blocks.summarise(self.max_categories)
        encoder = TableEncoder.from_columns(
            summary.columns,
            summary.values,
            max_categories=self.max_categories,
            scale=self.scale,
            constant=summary.constant,
        )
        return summary, encoder

    def impute(self, X: Any, *, lower: Any = None, upper: Any = None) -> Any:
        """Fill missing values with conditional means, categories with their mode.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``; what is filled in lies between.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        table, x, bounds = self._read(X, lower, upper, farthest=FOR_TABLES)
        with torch.inference_mode():
            blocks = [self._fill(block) for block in self._blocks(x)]
        return self._restore(torch.cat(blocks), table, bounds)

    def sample_imputations(
        self, X: Any, n: int = 5, *, lower: Any = None, upper: Any = None
    ) -> list[Any]:
        """Fill missing values ``n`` times with draws from their conditional density.

        All tables are drawn with the same parameters, without the uncertainty of the
        parameters themselves, and numbers as the density has them: they may lie outside
        the range of training, and need not be whole where all of a column are. For
        multiple imputation, with intervals that cover, and for draws of the kind of
        their column use :class:`lacunet.LacunetImputer`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        n : int, default=5
            Number of completed tables.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``; draws lie between them.

        Returns
        -------
        list of array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged in each.
        """
        check_positive_int(n, "n")
        table, x, bounds = self._read(X, lower, upper, farthest=FOR_TABLES)
        return self._draw_tables(x, table, n, self._make_generator(x.device), bounds)

    def _draw_new(self, x: Tensor, table: Any, generator: torch.Generator) -> Any:
        """Fill a table without a value by draws."""
        (cells,) = self._draw_tables(x, table, 1, generator)
        return cells

    def _make_generator(self, device: torch.device) -> torch.Generator:
        generator = torch_generator(check_random_state(self.random_state))
        if device.type == "cpu":
            return generator
        return torch.Generator(device).manual_seed(generator.initial_seed())

    def _draw_tables(
        self,
        x: Tensor,
        table: Any,
        n: int,
        generator: torch.Generator,
        bounds: Bounds | None = None,
    ) -> list[Any]:
        """Fill the missing cells of a table ``n`` times with draws."""
        with torch.inference_mode():
            blocks = [self._draw(block, n, generator) for block in self._blocks(x, n)]
        return [self._restore(draw, table, bounds) for draw in torch.cat(blocks, 1)]

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-likelihood of each row's observed cells under the density.

        The rows with the lowest ones are outliers: combinations of values that are
        unlikely, even where each value alone is not. It is the density of the encoded
        row, with numbers scaled as ``scale`` says, times the probability of its
        categories; which values are missing does not count. A row with nothing observed
        has 0. A sum over more cells is a larger one: compare a row with rows that have
        the same columns missing, such as draws of ``sample`` with these cells removed.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms.

        Examples
        --------
        >>> import numpy as np
        >>> from lacunet import LacunetImputer
        >>> X = np.tile(np.arange(50.0)[:, None], 2)
        >>> X[::5, 1] = np.nan
        >>> imputer = LacunetImputer(random_state=0).fit(X)
        >>> likely, unlikely = imputer.score_samples([[10.0, 10.0], [10.0, 40.0]])
        >>> bool(unlikely < likely - 10)
        True
        """
        x = self._read(X, farthest=self._clipped_at)[1].cpu().double()
        x[:, self._inputs.table.width :] = torch.nan  # the indicators
        with torch.inference_mode():
            scores = [self._log_prob(block) for block in self._blocks(x)]
        return torch.cat(scores).numpy()

    def sample(self, n: int = 1, *, missing: bool = True) -> Any:
        """Draw new rows from the density, with missing cells as in training.

        Numbers are drawn from a mixture of Gaussians: they may lie outside the range of
        training. The density of an estimator with networks is also trained for their
        predictions; that of :class:`lacunet.LacunetImputer` is closest to the data.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        missing : bool, default=True
            Whether cells are missing as in training: rows have the patterns of missing
            values that were there, as often as there; beyond the 200 most frequent ones
            columns are missing independently. Otherwise rows are complete.

        Returns
        -------
        array or frame of shape (n, n_features)
            A frame with the names and (the usual ones of) the types of training, if
            that was a frame. The same for the same ``random_state``.

        Examples
        --------
        >>> import numpy as np
        >>> from lacunet import LacunetImputer
        >>> X = np.tile(np.arange(50.0)[:, None], 2)
        >>> X[::5, 1] = np.nan
        >>> imputer = LacunetImputer(random_state=0).fit(X)
        >>> rows = imputer.sample(1000)
        >>> np.isnan(rows).mean(0).round(1)
        array([0. , 0.2])
        """
        check_is_fitted(self)
        check_positive_int(n, "n")
        form = self._form
        if missing and form is None:
            msg = (
                "Got missing=True and a model of an earlier version, which does not "
                "know what was missing together in training. Set missing=False for "
                "complete rows, or fit it again."
            )
            raise ValueError(msg)
        columns = self._inputs.table.columns
        removed = np.zeros((n, len(columns)), dtype=bool)
        encoded = np.full((n, len(self._inputs.sources)), np.nan)
        if missing and form is not None:
            removed = form.draw_missing(n, check_random_state(self.random_state))
            encoded = self._inputs.mark(encoded[:, : self._inputs.table.width], removed)
        x = to_tensor(encoded, next(self.density_.parameters()).device)
        nothing = np.full(removed.shape, None, dtype=object)
        cells = self._draw_new(x, nothing, self._make_generator(x.device))
        cells[removed] = None
        if form is not None and form.backend is not None:
            return form.make_frame(cells, [column.name for column in columns])
        numbers = all(column.kind == "number" for column in columns)
        return cells.astype(np.float64) if numbers else cells

    def save(
        self,
        path: AnyPath,
        *,
        force: bool = False,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """Write the fitted model: a folder with two files, and no code.

        Parameters
        ----------
        path : str or PathLike
            The folder. It is written under another name first, so that there is never
            half a model.
        force : bool, default=False
            Whether to replace a model that is there already; anything else is never
            replaced.
        texts : mapping of str to str, default=None
            Further files of the folder, by name, such as a card that describes the
            model.
        """
        check_is_fitted(self)
        check_parameters(self)
        names = getattr(self, "feature_names_in_", None)
        content = {
            "class": type(self).__name__,
            "parameters": pack_parameters(self.get_params(deep=False)),
            "versions": find_versions(),
            "inputs": self._inputs.to_state(),
            "form": None if self._form is None else self._form.to_state(),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": None if names is None else pack_array(names),
            **self._pack(),
        }
        write_model(path, self._tensors(), content, texts, force=force)

    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors to be saved."""
        return dict(self._networks().state_dict())

    def _load(self, tensors: dict[str, Tensor], content: Mapping[str, Any]) -> None:
        """Restore what ``save`` has written."""
        check_parameters(self)
        self._inputs = InputEncoder.from_state(content["inputs"])
        self.n_features_in_ = int(content["n_features_in"])
        form, n_columns = content.get("form"), len(self._inputs.table.columns)
        self._form = None if form is None else TableForm.from_state(form, n_columns)
        if content["feature_names_in"] is not None:
            self.feature_names_in_ = unpack_array(content["feature_names_in"])
        self._check_whole(tensors, content)
        with undisturbed():
            self._unpack(content)
            module = self._networks()
            module.load_state_dict(tensors)
        module.to(find_device(self.device)).eval()

    def _check_whole(
        self, tensors: dict[str, Tensor], content: Mapping[str, Any]
    ) -> None:
        """Refuse what does not belong together, before anything is allocated."""
        n_columns = len(self._inputs.table.columns)
        names = getattr(self, "feature_names_in_", [""] * n_columns)
        check_agreement(
            n_features_in=(self.n_features_in_, n_columns),
            feature_names_in=(len(names), n_columns),
        )
        for shape in self._shapes(content):
            self._check_columns(shape)
            n_saved = sum(tensor.numel() for tensor in tensors.values())
            needed = shape.fewest_numbers(self._layer_sizes(content))
            check_agreement(enough_tensors=(n_saved >= needed, True))
        for name, tensor in tensors.items():
            if bool(torch.isnan(tensor).any()):
                msg = f"the tensor {name} holds NaN"
                raise ValueError(msg)

    def _check_columns(self, shape: ViewShape) -> None:
        """Refuse a density of other columns than those of the encoded table."""
        bins = tuple(n + 1 for n in shape.n_edges or ())
        n_numeric = shape.n_numeric if shape.n_edges is None else len(bins)
        check_agreement(
            numbers=(n_numeric, self._inputs.n_numeric),
            categories=(shape.sizes, (*bins, *self._inputs.sizes)),
        )

    def _shapes(self, content: Mapping[str, Any]) -> list[ViewShape]:
        """Return the shapes of all that was learned."""
        return [ViewShape.from_state(content["density"])]

    def _layer_sizes(self, content: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the widths of the layers behind the density."""
        return ()

    def _networks(self) -> nn.Module:
        """Return the module that holds all that was learned."""
        return self.density_

    def _pack(self) -> dict[str, Any]:
        """Return what else is to be saved."""
        return {"density": ViewShape.of(self.density_).to_state()}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        """Allocate what was learned, and restore all that was saved beside it."""
        (shape,) = self._shapes(content)
        self.density_ = shape.build_density().requires_grad_(False)

    def _read(
        self,
        X: Any,
        lower: Any = None,
        upper: Any = None,
        *,
        farthest: float = FOR_NETWORKS,
    ) -> tuple[Any, Tensor, Bounds | None]:
        """Return a table, encoded on the device with bounds behind, and its bounds."""
        check_is_fitted(self)
        check_prediction_parameters(self)
        table = read_table(self, X, reset=False)
        bounds = read_bounds(self, table, lower, upper)
        bounds = self._inputs.table.place_bounds(table, bounds)
        encoded = self._inputs.transform(table, bounds, farthest=farthest)
        if self.on_unseen_missing != "use":
            self._warn_unseen_missing(encoded)
        device = next(self.density_.parameters()).device
        return table, to_tensor(encoded, device), bounds

    def _warn_unseen_missing(self, encoded: np.ndarray) -> None:
        found = np.asarray(self._inputs.find_missing(encoded).any(0))
        columns = self._inputs.table.columns
        unseen = [columns[i] for i in self._inputs.always_known if found[i]]
        if not unseen:
            return
        msg = (
            f"Got missing values (or categories that training has not seen) in columns "
            f"{[column.name for column in unseen]}, which had none in training"
        )
        if any(column.had_missing for column in unseen):
            msg += ", or none without a bound (pass lower and upper)"
        if self.on_unseen_missing == "raise":
            msg += ", but expected none. Set on_unseen_missing='use' to allow them."
            raise ValueError(msg)
        msg += ". Nothing was learned from such rows"
        if hasattr(self, "propagate"):
            msg += (
                ": predictions for them are means over draws of these values, unless "
                "propagate='expectation'"
            )
        msg += ". Set on_unseen_missing='use' to silence this."
        warn_user(msg)

    def _blocks(self, x: Tensor, draws: int = 1) -> Iterator[Tensor]:
        """Split rows into blocks that fit in memory."""
        n_components = self.density_.components.log_weights.shape[0]
        each = max(1, n_components) * x.shape[1] * draws
        yield from x.split(max(1, BLOCK_BUDGET // each))

    def _fill(self, x: Tensor) -> Tensor:
        """Fill missing values of the encoded table with their mean."""
        return self._condition(x).mean()

    def _condition(self, x: Tensor) -> ConditionalMixture:
        """Return what missing values may be, given the rest of the encoded rows."""
        rows, lower, upper = split_bounds(x, len(self._inputs.sources))
        return self.density_.condition(rows, lower=lower, upper=upper)

    def _log_prob(self, x: Tensor) -> Tensor:
        """Return the log-likelihood of encoded rows in double precision, on the CPU."""
        # In single precision that of a row depends on its place in the block.
        return copy.deepcopy(self.density_).cpu().double().log_prob(x)

    def _draw(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """Fill missing values of the encoded table with draws: (n, batch, width)."""
        return self._condition(x).sample(n, generator)

    def _restore(self, filled: Tensor, table: Any, bounds: Bounds | None = None) -> Any:
        encoder = self._inputs.table
        encoded = filled[:, : encoder.width].cpu().double().numpy()

        def adjust(numbers: np.ndarray) -> np.ndarray:
            return self._adjust(numbers, bounds)

        return encoder.restore(encoded, table, adjust)

    def _adjust(self, numbers: np.ndarray, bounds: Bounds | None) -> np.ndarray:
        """Return filled numbers as the table shall have them: inside their bounds."""
        if bounds is None:
            return numbers
        return np.asarray(np.fmin(np.fmax(numbers, bounds.lower), bounds.upper))


class FillingMixin(OneToOneFeatureMixin, TransformerMixin):
    """Estimators whose ``transform`` fills what is missing, given bounds or not."""

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
        **fit_params: Any,
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
        **fit_params
            Further arguments of ``fit``.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        filling: Any = self
        filling.fit(X, y, lower=lower, upper=upper, **fit_params)
        return filling.transform(X, lower=lower, upper=upper)


class Problem(NamedTuple):
    """What is to be learned from the rows of a table."""

    targets: np.ndarray | None  # (n_samples, *); None for the encoded table itself
    weights: np.ndarray  # (n_samples,)
    criterion: Criterion
    out_features: int | None  # None for the width of the encoded table
    factors: np.ndarray | None = None  # (n_samples,), of the weights of the rows


class Validation(NamedTuple):
    """Rows to validate on, chosen by the user."""

    table: Any
    targets: np.ndarray | None
    weights: np.ndarray | None = None


class NetworkEstimator(DensityEstimator):
    """Base of the estimators with networks behind the density."""

    module_: ViewEnsemble
    history_: list[Epoch]
    timed_out_: bool
    _fitted_body: BodyShape
    _seed: int | None

    @property
    def _is_warm(self) -> bool:
        """Whether there are networks already, in ``fit``: it goes on from them."""
        return hasattr(self, "module_")

    def _networks(self) -> nn.Module:
        return self.module_

    def _pack(self) -> dict[str, Any]:
        return {
            "branches": [view.shape.to_state() for view in self.module_],
            "body": pack_parameters(asdict(self._fitted_body)),
            "history": [list(record) for record in self.history_],
            "timed_out": self.timed_out_,
            "seed": getattr(self, "_seed", None),
            "most_missing": self._most_missing,
        }

    def _unpack(self, content: Mapping[str, Any]) -> None:
        self._fitted_body = BodyShape.from_state(unpack_parameters(content["body"]))
        self._most_missing = int(content["most_missing"])
        shapes = self._shapes(content)
        self.module_ = ViewEnsemble.from_shapes(shapes, self._fitted_body)
        self.density_ = next(iter(self.module_)).density
        self.history_ = [Epoch(*record) for record in content["history"]]
        self.timed_out_ = bool(content.get("timed_out", False))
        self._seed = content.get("seed")

    def _shapes(self, content: Mapping[str, Any]) -> list[ViewShape]:
        return [ViewShape.from_state(state) for state in content["branches"]]

    def _layer_sizes(self, content: Mapping[str, Any]) -> tuple[int, ...]:
        body = BodyShape.from_state(unpack_parameters(content["body"]))
        return (*body.hidden_sizes, body.out_features)

    def _fit_networks(
        self,
        table: Any,
        problem: Problem,
        *,
        began: float,
        bounds: Bounds | None = None,
        valid: Validation | None = None,
        X_unlabelled: Any = None,
        checkpoint: AnyPath | None = None,
    ) -> Self:
        store = None if checkpoint is None else CheckpointFile(checkpoint)
        samples = self._encode_training(table, problem, bounds)
        unlabelled = self._encode_unlabelled(X_unlabelled)
        n_more = samples.x.shape[1] - unlabelled.shape[1]
        if n_more and valid is not None:
            msg = (
                "Got bounds of X, but X_val has none: what is below or above a limit "
                "there counts as missing, and intervals of rows with bounds get wider "
                "than they need be. Leave X_val out: rows of X validate then."
            )
            warn_user(msg)
        if n_more:  # these have no bounds
            unlabelled = np.pad(
                unlabelled, ((0, 0), (0, n_more)), constant_values=np.nan
            )
        if problem.targets is not None and problem.targets.dtype.kind == "f":
            bare = np.isnan(samples.targets).all(1)
            unlabelled = np.concatenate([unlabelled, samples.x[bare]])
            samples = samples[~bare]
        validation = self._encode_validation(valid)
        setting = self._setting(problem, samples, store)
        warm = self._is_warm
        if store is not None:
            given = [samples, *([validation] if validation else [])]
            arrays = [a for s in given for a in (s.x, s.targets, s.weights)]
            if warm:
                arrays += [t.cpu().numpy() for t in self.module_.state_dict().values()]
            parameters = pack_parameters(self.get_params(deep=False))
            owner = name_owner(parameters, [*arrays, unlabelled])
            store.belong_to(owner, setting.seed)
        until = None
        if self.time_limit is not None and store is None:
            # Resumed training needs the density that it began with, whole.
            until = began + RECIPE.time_of_em * self.time_limit
        with undisturbed():
            if warm:  # on a copy: if training fails, the model is what it was
                module = copy.deepcopy(self.module_).to(setting.device)
                for view in module:
                    view.density.requires_grad_(False)
            else:
                with closing(Watch(until, verbose=bool(self.verbose))) as watch:
                    module = build_views(setting, samples, unlabelled, watch)
                self._initialise(module, samples, setting.seeds(5))
            rest = setting.after(time.monotonic() - began)
            folds = make_folds(setting, samples, validate=validation is None)
            history = fit_views(
                module,
                rest,
                samples,
                folds,
                valid=validation,
                unlabelled=unlabelled,
                store=store,
                warm=warm,
            )
        self._fitted_body = setting.body
        self._seed = setting.seed
        self.history_ = history
        limit = rest.parameters["time_limit"]
        took = history[-1].seconds if history else 0.0
        self.timed_out_ = limit is not None and took >= limit
        self.module_ = module
        self.density_ = next(iter(module)).density
        self._keep_calibration(samples, folds, validation, warm=warm)
        return self

    def _keep_calibration(
        self,
        samples: Samples,
        folds: Folds,
        valid: Samples | None = None,
        *,
        warm: bool = False,
    ) -> None:
        """Keep some rows with the fitted model."""

    def _fit_blocks(self, blocks: Blocks) -> None:
        """Fit to a table in blocks: encoder, densities and networks to all its rows."""
        self._begin()
        summary, table = self._describe_blocks(blocks)
        target, problem = self._target_of(summary)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._seed = blocks.begin(seed)
        n_folds = max(2, round(1 / self.validation_fraction))
        nothing = np.empty(0, dtype=np.intp)
        inputs = InputEncoder(table, nothing)
        coder = RowCoder(inputs, target, n_folds, self._seed)
        grids: list[np.ndarray] = []
        parameters, body = self._training_parameters(), self._body(1)
        if count_networks(parameters, body, summary.n_rows, table.n_numeric)[1]:
            values = inputs.add_marks(table.scaling.transform(summary.values))
            grids = [find_grid(column[~np.isnan(column)]) for column in values.T]
        scan = blocks.scan(coder, grids)
        sample = scan.sample
        if is_of_copies(sample, table.width):
            even = np.full(n_folds, scan.fold_weights.mean())
            sample = replace(sample, folds=coder.fold(sample.keys))
            coder = replace(coder, by_place=True)
            scan = replace(scan, fold_weights=even)
        whole = sample.targets.dtype.kind == "i"
        missing = np.isnan(sample.x[:, table.starts])
        marked = choose_marked(
            parameters["indicator"], missing, sample.targets, classes=whole
        )
        self._inputs = InputEncoder(table, marked)
        self._most_missing = scan.most_missing
        self._form = TableForm.of(missing, backend="pyarrow")
        coder = replace(coder, inputs=self._inputs)
        x = self._inputs.mark(sample.x)
        targets = x if problem.out_features is None else sample.targets
        samples = Samples(x, targets, sample.weights)
        setting = self._setting(problem, samples, None)

        refine = partial(refine_over, blocks, coder, scan.n_rows)
        with undisturbed():
            module = build_views(
                setting,
                samples,
                self._inputs.mark(scan.unlabelled.x),
                Watch(),
                bins=find_bins(scan.histograms) if scan.histograms else None,
                refine=refine,
            )
            self._initialise(module, samples, setting.seeds(5))
            folds = Folds(torch.as_tensor(sample.folds), n_folds)
            jobs = [
                ViewJob(
                    view, setting, samples, folds, scan.whole, scan.n_labelled, seed
                )
                for seed, view in enumerate(module, start=setting.seeds(3))
            ]
            trained = blocks.train(coder, jobs)
            for view, (tensors, _) in zip(module, trained, strict=True):
                view.load_state_dict(tensors)
            module.eval()
            task = make_task(module, setting, samples, folds, None, x[:0], scan.whole)
            module.view_weights.copy_(torch.tensor(task.choose_view_weights()))
        self.history_ = join_histories([history for _, history in trained])
        self.timed_out_ = False
        self._fitted_body = setting.body
        self.module_ = module
        self.density_ = next(iter(module)).density
        self._keep_calibration(samples, folds)

    @abstractmethod
    def _target_of(self, summary: TableSummary) -> tuple[TargetCode, Problem]:
        """Return how targets are encoded, and the problem, without its rows."""

    def _encode_training(
        self, table: Any, problem: Problem, bounds: Bounds | None = None
    ) -> Samples:
        """Fit the encoder, and return the rows in canonical order."""
        index, weights = repeat_rows(problem.weights, problem.factors)
        if len(index) != len(problem.weights) or not (np.diff(index) == 1).all():
            table = _safe_indexing(table, index)
            if bounds is not None:
                bounds = Bounds(bounds.lower[index], bounds.upper[index])
        targets = None if problem.targets is None else problem.targets[index]
        if self._is_warm:
            placed = self._inputs.table.place_bounds(table, bounds)
            x = self._inputs.transform(table, placed)
        else:
            encoder = TableEncoder(max_categories=self.max_categories, scale=self.scale)
            encoded = encoder.fit_transform(table, bounds)
            known = encoded if targets is None else targets
            whole = known.dtype.kind == "i"
            indicator = self._training_parameters()["indicator"]
            placed = encoder.place_bounds(table, bounds)
            missing = np.isnan(encoded[:, encoder.starts])
            missing = encoder.without_bounded(missing, placed)
            bounded = choose_bounded(indicator, encoder, placed)
            marked = choose_marked(indicator, missing, known, bounded, classes=whole)
            always_known = np.flatnonzero(~missing.any(0))
            self._inputs = InputEncoder(encoder, marked, bounded, always_known)
            x = self._inputs.add_marks(encoded, missing, placed)
            self._most_missing = 0
        self._form = TableForm.of(np.isnan(x[:, self._inputs.table.starts]), table)
        n_missing = self._inputs.find_missing(x).sum(1)
        self._most_missing = max(self._most_missing, int(n_missing.max()))
        targets = x[:, : len(self._inputs.sources)] if targets is None else targets
        # In single precision: weights on another scale differ by rounding.
        order = canonical_order(x, targets, weights.astype(np.float32))
        return Samples(x, targets, weights)[order]

    def _encode_unlabelled(self, X: Any) -> np.ndarray:
        """Return rows without a target in canonical order; there may be none."""
        if X is None or getattr(X, "shape", (1,))[0] == 0:
            return np.empty((0, len(self._inputs.sources)))
        x = self._inputs.transform(read_table(self, X, reset=False))
        ordered: np.ndarray = x[canonical_order(x)]
        return ordered

    def _encode_validation(self, valid: Validation | None) -> Samples | None:
        if valid is None:
            return None
        x = self._inputs.transform(read_table(self, valid.table, reset=False))
        targets = x if valid.targets is None else valid.targets
        weights = np.ones(len(x)) if valid.weights is None else valid.weights
        return Samples(x, targets, weights)

    def _setting(
        self, problem: Problem, samples: Samples, store: CheckpointFile | None
    ) -> Setting:
        seed = None if store is None else store.seed
        if seed is None:  # a warm start has the folds of the fit before
            seed = getattr(self, "_seed", None)
        if seed is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Setting(
            self._training_parameters(),
            self._inputs.sizes,
            self._inputs.n_numeric,
            self._inputs.sources,
            self._fitted_body
            if self._is_warm
            else self._body(problem.out_features or len(self._inputs.sources)),
            problem.criterion,
            find_device(self.device),
            seed,
        )

    def _training_parameters(self) -> dict[str, Any]:
        """Return the parameters that training uses."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def _body(self, out_features: int) -> BodyShape:
        """Return the shape of the networks."""
        return BodyShape(
            tuple(self.hidden_layer_sizes),
            out_features,
            self.activation,
            self.activation,
            dropout=self.dropout,
            skip=True,
        )

    def _initialise(self, module: ViewEnsemble, samples: Samples, seed: int) -> None:
        """Change the initial parameters of the networks."""

    def _block_size(self, draws: int = 1) -> int:
        """Return how many rows the networks may take at once."""
        each = sum(view.numbers_a_row for view in self.module_)
        # Python's own: a parameter may be an integer of numpy, from a grid.
        return int(max(1, NUMBERS_AT_ONCE // (each * max(1, draws))))
