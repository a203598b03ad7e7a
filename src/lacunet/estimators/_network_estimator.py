"""What the estimators with networks share: networks fitted, asked and saved."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.utils import _safe_indexing, check_random_state
from torch import Tensor, nn

from lacunet.estimators._base import DensityEstimator
from lacunet.estimators._checkpoint import CheckpointFile, name_owner
from lacunet.estimators._contract import read_table
from lacunet.estimators._fitting import (
    Samples,
    Setting,
    build_branches,
    fit_branches,
    undisturbed,
)
from lacunet.estimators._inputs import (
    InputEncoder,
    choose_marked,
)
from lacunet.estimators._models import (
    pack_parameters,
    unpack_parameters,
)
from lacunet.estimators._network import (
    NUMBERS_AT_ONCE,
    BodyShape,
    Branches,
    BranchShape,
)
from lacunet.estimators._parameters import (
    find_device,
)
from lacunet.estimators._rows import canonical_order, repeat_rows
from lacunet.estimators._saving import AnyPath
from lacunet.estimators._table import TableEncoder
from lacunet.estimators._task import Criterion
from lacunet.training import Epoch

# Most CPUs take products of fewer rows another way, and round them otherwise. Padded, a
# row alone has nearly always the very prediction that it has among others; no BLAS
# promises more than that the two agree up to rounding.
_FEW_ROWS = 16


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
        each = sum(branch.numbers_a_row for branch in self.module_)
        # Python's own: a parameter may be an integer of numpy, from a grid.
        return int(max(1, NUMBERS_AT_ONCE // (each * max(1, draws))))

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


def _at_least(x: Tensor, n_rows: int) -> Tensor:
    """Repeat the last row until there are so many."""
    if len(x) >= n_rows:
        return x
    return torch.cat((x, x[-1:].expand(n_rows - len(x), -1)))
