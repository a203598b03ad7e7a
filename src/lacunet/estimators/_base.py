"""What the estimators share: tables in, networks fitted and asked, tables out."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lacunet._random import torch_generator
from lacunet._validation import check_positive_int
from lacunet.density import MixtureDensity
from lacunet.estimators._checkpoint import CheckpointFile, name_owner
from lacunet.estimators._contract import read_table
from lacunet.estimators._fitting import (
    Samples,
    Setting,
    build_branches,
    fit_branches,
    to_tensor,
    undisturbed,
)
from lacunet.estimators._inputs import (
    FOR_NETWORKS,
    FOR_TABLES,
    InputEncoder,
    choose_marked,
)
from lacunet.estimators._models import (
    check_agreement,
    check_no_nan,
    find_versions,
    pack_array,
    pack_parameters,
    unpack_array,
    unpack_parameters,
)
from lacunet.estimators._network import BodyShape, Branches, BranchShape
from lacunet.estimators._parameters import (
    check_parameters,
    check_prediction_parameters,
    find_device,
)
from lacunet.estimators._rows import canonical_order, repeat_rows
from lacunet.estimators._saving import AnyPath, write_model
from lacunet.estimators._table import TableEncoder
from lacunet.estimators._task import Criterion
from lacunet.exceptions import warn_user
from lacunet.training import Epoch

# Numbers that a block of rows may hold at once in a layer: 64 MB in single precision.
_BLOCK_BUDGET = 2**24

# Products of fewer rows are taken another way, and rounded otherwise: a row alone would
# not have the prediction that it has among others.
_FEW_ROWS = 16
# What is learned beside the attributes that end in an underscore.
_LEARNED = ("_fitted_body", "_flat", "_inputs", "_scale")


class DensityEstimator(BaseEstimator):
    """What all estimators can do with their density: fill a table.

    Attributes
    ----------
    density_ : MixtureDensity
        Of the encoded table.
    """

    density_: MixtureDensity
    _inputs: InputEncoder

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether there is a density to ask."""
        return hasattr(self, "density_")

    def _begin(self) -> None:
        """Check the parameters, and forget what was learned before.

        A fit that fails leaves no mixture of an old model and a new one.
        """
        check_parameters(self)
        for name in [*vars(self)]:
            if name.endswith("_") or name in _LEARNED:
                delattr(self, name)

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def impute(self, X: Any) -> Any:
        """Fill what is missing with its conditional mean, categories with their mode.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the kind of ``X``. Observed cells are as they were.
        """
        table, x = self._read(X, farthest=FOR_TABLES)
        with torch.inference_mode():
            blocks = [self.density_.condition(b).mean() for b in self._blocks(x)]
        return self._restore(torch.cat(blocks), table)

    def sample_imputations(self, X: Any, n: int = 5) -> list[Any]:
        """Fill what is missing ``n`` times with draws from its conditional density.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        n : int, default=5
            Number of tables.

        Returns
        -------
        list of array or frame of shape (n_samples, n_features)
            Of the kind of ``X``. Observed cells are as they were in each.
        """
        check_positive_int(n, "n")
        table, x = self._read(X, farthest=FOR_TABLES)
        random_state = check_random_state(self.random_state)
        generator = torch_generator(random_state)
        if x.device.type != "cpu":
            generator = torch.Generator(x.device).manual_seed(generator.initial_seed())
        with torch.inference_mode():
            blocks = [
                self.density_.condition(block).sample(n, generator)
                for block in self._blocks(x, n)
            ]
        return [self._restore(draw, table) for draw in torch.cat(blocks, 1)]

    def save(self, path: AnyPath) -> None:
        """Write the fitted model: a folder with exactly two files, and no code.

        Parameters
        ----------
        path : str or PathLike
            The folder; a model that is there already is replaced. It is written under
            another name first, so that there is never half a model.
        """
        check_is_fitted(self)
        check_parameters(self)
        content = {
            "class": type(self).__name__,
            "parameters": pack_parameters(self.get_params(deep=False)),
            "versions": find_versions(),
            "inputs": self._inputs.to_state(),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": _pack_names(self),
            **self._pack(),
        }
        write_model(path, self._networks().state_dict(), content)

    def _load(self, tensors: dict[str, Tensor], content: Mapping[str, Any]) -> None:
        """Take over what ``save`` has written."""
        check_parameters(self)
        self._inputs = InputEncoder.from_state(content["inputs"])
        self.n_features_in_ = int(content["n_features_in"])
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
        """Refuse what does not belong together, before room is made for it."""
        n_columns = len(self._inputs.table.columns)
        names = getattr(self, "feature_names_in_", [""] * n_columns)
        check_agreement(
            n_features_in=(self.n_features_in_, n_columns),
            feature_names_in=(len(names), n_columns),
        )
        for shape in self._shapes(content):
            levels = tuple(n + 1 for n in shape.n_edges or ())
            n_numeric = shape.n_numeric if shape.n_edges is None else len(levels)
            check_agreement(
                numbers=(n_numeric, self._inputs.n_numeric),
                levels=(shape.sizes, (*levels, *self._inputs.sizes)),
            )
            room = sum(tensor.numel() for tensor in tensors.values())
            needed = shape.fewest_numbers(self._layer_sizes(content))
            check_agreement(enough_tensors=(room >= needed, True))
        check_no_nan(tensors)

    def _shapes(self, content: Mapping[str, Any]) -> list[BranchShape]:
        """Return the shapes of all that was learned."""
        return [BranchShape.from_state(content["density"])]

    def _layer_sizes(self, content: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the widths of the layers behind the density."""
        return ()

    def _networks(self) -> nn.Module:
        """Return the module that holds all that was learned."""
        return self.density_

    def _pack(self) -> dict[str, Any]:
        """Return what else is to be saved."""
        return {"density": BranchShape.of(self.density_).to_state()}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        """Make room for what was learned, with all that was saved beside it."""
        (shape,) = self._shapes(content)
        self.density_ = shape.build_density().requires_grad_(False)

    def _read(self, X: Any, *, farthest: float = FOR_NETWORKS) -> tuple[Any, Tensor]:
        """Return the table as it is, and encoded on the device."""
        check_is_fitted(self)
        check_prediction_parameters(self)
        table = read_table(self, X, reset=False)
        encoded = self._inputs.transform(table, farthest=farthest)
        self._mind_unseen_holes(encoded)
        return table, to_tensor(encoded, self._device())

    def _device(self) -> torch.device:
        return next(self.density_.parameters()).device

    def _mind_unseen_holes(self, encoded: np.ndarray) -> None:
        if self.on_unseen_missing == "use":
            return
        names = self._inputs.table.unseen_holes(encoded)
        if not names:
            return
        msg = (
            f"Got missing values (or levels that training has not seen) in columns "
            f"{list(names)}, which had none in training"
        )
        if self.on_unseen_missing == "raise":
            msg += ", but expected none. Set on_unseen_missing='use' to allow them."
            raise ValueError(msg)
        msg += (
            ". They are used as they are, but nothing was learned from such rows. Set "
            "on_unseen_missing='use' to silence this, and propagate='sample' if the "
            "model has it, for probabilities that know of the doubt."
        )
        warn_user(msg)

    def _blocks(self, x: Tensor, draws: int = 1) -> Iterator[Tensor]:
        """Split rows into blocks that fit in memory."""
        n_components = self.density_.components.log_weights.shape[0]
        each = max(1, n_components) * x.shape[1] * draws
        yield from x.split(max(1, _BLOCK_BUDGET // each))

    def _restore(self, filled: Tensor, table: Any) -> Any:
        encoder = self._inputs.table
        encoded = filled[:, : encoder.width].cpu().double().numpy()
        return encoder.restore(encoded, table)


def _at_least(x: Tensor, n_rows: int) -> Tensor:
    """Repeat the last row until there are so many."""
    if len(x) >= n_rows:
        return x
    return torch.cat((x, x[-1:].expand(n_rows - len(x), -1)))


def _pack_names(estimator: BaseEstimator) -> dict[str, Any] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else pack_array(names)


class Problem(NamedTuple):
    """What is asked of the rows of a table."""

    targets: np.ndarray | None  # (n_samples, *); None for the encoded table itself
    weights: np.ndarray  # (n_samples,)
    criterion: Criterion
    out_features: int | None  # None for the width of the encoded table
    factors: np.ndarray | None = None  # (n_samples,), of the weights of all its rows


class Validation(NamedTuple):
    """Rows to validate on, chosen by the user."""

    table: Any
    targets: np.ndarray | None
    weights: np.ndarray | None = None


class NetworkEstimator(DensityEstimator):
    """What the estimators with networks share.

    Attributes
    ----------
    module_ : torch.nn.Module
        From the encoded table to the outputs of all networks.
    history_ : list of Epoch
    """

    module_: Branches
    history_: list[Epoch]
    _fitted_body: BodyShape

    def _networks(self) -> nn.Module:
        return self.module_

    def _pack(self) -> dict[str, Any]:
        return {
            "branches": [branch.shape.to_state() for branch in self.module_],
            "body": pack_parameters(asdict(self._fitted_body)),
            "history": [list(record) for record in self.history_],
        }

    def _unpack(self, content: Mapping[str, Any]) -> None:
        self._fitted_body = BodyShape.from_state(unpack_parameters(content["body"]))
        self.module_ = Branches.from_shapes(self._shapes(content), self._fitted_body)
        self.density_ = next(iter(self.module_)).density
        self.history_ = [Epoch(*record) for record in content["history"]]

    def _shapes(self, content: Mapping[str, Any]) -> list[BranchShape]:
        return [BranchShape.from_state(state) for state in content["branches"]]

    def _layer_sizes(self, content: Mapping[str, Any]) -> tuple[int, ...]:
        body = BodyShape.from_state(unpack_parameters(content["body"]))
        return (*body.hidden_sizes, body.out_features)

    def _fit_networks(
        self,
        table: Any,
        problem: Problem,
        *,
        valid: Validation | None = None,
        X_unlabelled: Any = None,
        checkpoint: AnyPath | None = None,
    ) -> Self:
        began = time.monotonic()
        store = None if checkpoint is None else CheckpointFile(checkpoint)
        samples = self._encode_training(table, problem)
        unlabelled = self._encode_unlabelled(X_unlabelled)
        judged = self._encode_validation(valid)
        setting = self._setting(problem, samples, store)
        if store is not None:
            parts = [samples, *([judged] if judged else [])]
            arrays = [a for p in parts for a in (p.x, p.targets, p.weights)]
            parameters = pack_parameters(self.get_params(deep=False))
            owner = name_owner(parameters, [*arrays, unlabelled])
            store.belong_to(owner, setting.seed)
        with undisturbed():
            module = build_branches(setting, samples, unlabelled)
            self._start(module, samples, setting.seeds(5))
            self.history_ = fit_branches(
                module,
                setting.after(time.monotonic() - began),
                samples,
                valid=judged,
                unlabelled=unlabelled,
                store=store,
            )
        self._fitted_body = setting.body
        self.module_ = module
        self.density_ = next(iter(module)).density
        return self

    def _encode_training(self, table: Any, problem: Problem) -> Samples:
        """Fit the encoder, and return the rows in an order of their own."""
        index, weights = repeat_rows(problem.weights, problem.factors)
        if len(index) != len(problem.weights) or not (np.diff(index) == 1).all():
            table = _safe_indexing(table, index)
        encoder = self._make_encoder()
        encoded = encoder.fit_transform(table)
        whole = problem.targets is not None and problem.targets.dtype.kind == "i"
        targets = encoded if problem.targets is None else problem.targets[index]
        indicator = self._training_parameters()["indicator"]
        marked = choose_marked(indicator, encoder, encoded, targets, classes=whole)
        self._inputs = InputEncoder(encoder, marked)
        x = self._inputs.add_marks(encoded)
        targets = x if problem.targets is None else targets
        # Weights on another scale are others by rounding.
        order = canonical_order(x, targets, weights.astype(np.float32))
        return Samples(x, targets, weights)[order]

    def _encode_unlabelled(self, X: Any) -> np.ndarray:
        """Return rows without a target in an order of their own; there may be none."""
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
        if seed is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Setting(
            self._training_parameters(),
            self._inputs.sizes,
            self._inputs.n_numeric,
            self._inputs.sources,
            self._body(problem.out_features or samples.x.shape[1]),
            problem.criterion,
            find_device(self.device),
            seed,
        )

    def _training_parameters(self) -> dict[str, Any]:
        """Return the parameters that training asks for."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def _make_encoder(self) -> TableEncoder:
        return TableEncoder(max_categories=self.max_categories, scale=self.scale)

    def _body(self, out_features: int) -> BodyShape:
        """Return the shape of the networks."""
        return BodyShape(
            tuple(self.hidden_layer_sizes),
            out_features,
            self.activation,
            self.activation,
            dropout=self.dropout,
        )

    def _start(self, module: Branches, samples: Samples, seed: int) -> None:
        """Change where training starts from, if there is something to change."""

    def _predict_mean(self, X: Any, criterion: Criterion) -> np.ndarray:
        """Return the mean prediction of all networks, (n_samples, out)."""
        _, x = self._read(X)
        draws = int(self.n_samples) if self.propagate == "sample" else 0
        blocks = x.split(self._block_size(draws))
        with torch.inference_mode():
            means = [self._mean_of(block, criterion, draws) for block in blocks]
        return torch.cat(means).numpy()

    def _block_size(self, draws: int = 1) -> int:
        """Return how many rows the networks may take at once."""
        widest = max(self._fitted_body.hidden_sizes)
        shapes = [branch.shape for branch in self.module_]
        each = sum(
            shape.n_networks * shape.n_components * widest + shape.width
            for shape in shapes
        )
        # Python's own: a parameter may be an integer of numpy, from a grid.
        return int(max(1, _BLOCK_BUDGET // (each * max(1, draws))))

    def _mean_of(self, x: Tensor, criterion: Criterion, draws: int) -> Tensor:
        # Averaged in double precision: in single, a mean over networks is rounded by
        # where a row stands in its block. On the CPU: not every device has doubles.
        shares = self.module_.network_shares.cpu().double()[:, None, None]
        if not draws:
            outputs = self.module_(_at_least(x, _FEW_ROWS))[:, : len(x)]
            predictions = criterion.predict(outputs).cpu().double()
            return (predictions * shares).sum(0)
        outputs = self.module_.forward_draws(x, draws)  # (networks, n, batch, out)
        predictions = criterion.predict(outputs).cpu().double().mean(1)
        return (predictions * shares).sum(0)
