"""Predictions of a fitted model, from a table or from encoded rows."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from lacunet._remember import remembering
from lacunet.estimators._base import NetworkEstimator
from lacunet.estimators._fit import Criterion, Folds, Samples
from lacunet.estimators._sampling import canonical_order
from lacunet.estimators._saving import check_agreement
from lacunet.exceptions import LacunetError

# Products of fewer rows are computed another way, and rounded otherwise: a row alone
# would not have the prediction that it has among others.
_FEW_ROWS = 16
# Of the rows that are kept with a model, to calibrate intervals and sets on.
_MOST_CALIBRATION_ROWS = 1_000
_PREFIX = "calibration."  # of their tensors in a saved model
OF_PIPELINES = (
    "Of a pipeline take its last step, and rows as that gets them; of a search "
    "best_estimator_."
)
OBSERVED, BOUNDED = 1, 2  # states of a cell, beside 0 where nothing is known


class Calibration(NamedTuple):
    """Encoded rows with their targets, each unseen by some networks of each view."""

    x: Tensor  # (rows, width), NaN where a value is missing; perhaps bounds behind
    targets: Tensor  # (rows,) indices of classes, or (rows, outputs) to scale
    folds: Tensor  # (rows,), -1 for rows that no network has learned
    n_folds: Tensor  # (), of the training rows

    @classmethod
    def choose(
        cls, samples: Samples, folds: Folds, valid: Samples | None, n_networks: int
    ) -> "Calibration | None":
        """Take rows that networks of each view, of at least so many, did not learn."""
        of_row = folds.of_row.cpu().numpy()
        if valid is not None:
            samples = valid[canonical_order(valid.x, valid.targets)]
            of_row = np.full(len(valid.x), -1)
        elif (of_row < 0).all():  # too few rows to validate on some
            return None
        # Rows are in the order of their hashes: the first are any.
        rows = np.flatnonzero(of_row < n_networks)[:_MOST_CALIBRATION_ROWS]
        if not len(rows):
            return None
        x, targets, _ = samples[rows].to_rows(torch.device("cpu"))
        return cls(x, targets, torch.as_tensor(of_row[rows]), torch.tensor(folds.n))

    def take(self, rows: Any, device: torch.device | None = None) -> "Calibration":
        """Return some of the rows, for networks on a device."""
        x, targets, folds = (each[rows] for each in self[:3])
        return Calibration(x.to(device or x.device), targets, folds, self.n_folds)

    def is_same(self, other: "Calibration | None") -> bool:
        """Return whether these are the rows of another."""
        if other is None:
            return False
        pairs = zip(self, other, strict=True)
        return all(
            a.shape == b.shape and bool(torch.isclose(a, b, 0, 0, equal_nan=True).all())
            for a, b in pairs
        )


class PredictingEstimator(NetworkEstimator):
    """Base of the classifiers and of the regressor."""

    _criterion: ClassVar[Criterion]
    _calibration: Calibration | None = None

    @abstractmethod
    def _finish(self, means: np.ndarray) -> np.ndarray:
        """Return probabilities, or numbers in their own units: (..., rows, out)."""

    def _predict_table(
        self, X: Any, lower: Any = None, upper: Any = None
    ) -> np.ndarray:
        """Return the mean prediction of all networks, (n_samples, out)."""
        return self._predict_rows(self._read(X, lower, upper)[1])

    def _predict_rows(self, x: Tensor) -> np.ndarray:
        """Return the mean prediction of all networks for encoded rows."""
        return self._finish(self._map_rows(x, self._mean_of).numpy())

    def _map_rows(
        self,
        x: Tensor,
        of_block: Callable[[Tensor, int], Tensor],
        most_draws: int | None = None,
    ) -> Tensor:
        """Return (*, rows, out) of blocks of rows, each with its number of draws."""
        drawn = self._needs_draws(x)
        n = int(self.n_samples)
        n_draws = n if most_draws is None else min(most_draws, n)
        places, parts = [], []
        with torch.inference_mode(), remembering():
            for rows, draws in ((~drawn, 0), (drawn, n_draws)):
                blocks = rows.nonzero()[:, 0].split(self._block_size(draws))
                for block in blocks if bool(rows.any()) else ():
                    places.append(block)
                    parts.append(of_block(x[block], draws))
        return torch.cat(parts, -2)[..., torch.cat(places).argsort().cpu(), :]

    def _needs_draws(self, x: Tensor) -> Tensor:
        """Return which encoded rows are predicted from draws, by ``propagate``."""
        if self.propagate != "auto":
            return torch.full((len(x),), self.propagate == "sample", device=x.device)
        missing = self._inputs.find_missing(x.cpu().numpy())
        unseen = missing[:, self._inputs.always_known].any(1)
        drawn = unseen | (missing.sum(1) > self._most_missing)
        return torch.as_tensor(drawn, device=x.device)

    def _mean_of(self, x: Tensor, draws: int) -> Tensor:
        return average(self._network_weights()[-1], self._networks_of(x, draws))

    def _networks_of(self, x: Tensor, draws: int) -> Tensor:
        """Return the predictions of each network, (networks, rows, out).

        In double precision: in single, the rounding of a mean over networks depends on
        a row's place in its block. On the CPU: not every device has it.
        """
        n_more = 0 if draws else max(0, _FEW_ROWS - len(x))
        padded = torch.cat((x, x[-1:].expand(n_more, -1))) if n_more else x
        predictions = []
        for view, weight in zip(self.module_, self.module_.view_weights, strict=True):
            if weight > 0:
                outputs = view.forward_draws(x, draws) if draws else view(padded)
                predicted = self._criterion.predict(outputs)[..., : len(x), :]
                predicted = predicted.cpu().double()
                predictions.append(predicted.mean(1) if draws else predicted)
        return torch.cat(predictions)

    def _network_weights(self, n_folds: int = 0) -> Tensor:
        """Return weights of the networks in predictions, (folds + 1, networks).

        Of those for each fold, by the networks that did not learn its rows; and, last,
        of that by all. Only folds that each view has such networks for.
        """
        sizes = [view.networks.n_networks for view in self.module_]
        weights = []
        for fold in [*range(min(n_folds, *sizes)), None]:
            of_networks = []
            for n, weight in zip(
                sizes, self.module_.view_weights.tolist(), strict=True
            ):
                if weight > 0:
                    chosen = torch.ones(n, dtype=torch.float64)
                    if fold is not None:
                        chosen = (torch.arange(n) % n_folds == fold).double()
                    of_networks.append(weight * chosen / chosen.sum())
            weights.append(torch.cat(of_networks))
        return torch.stack(weights)

    # --- rows that are kept with the model

    def _keep_calibration(
        self,
        samples: Samples,
        folds: Folds,
        valid: Samples | None = None,
        *,
        warm: bool = False,
    ) -> None:
        former, self._calibration = self._calibration, None
        if not self.calibration:
            return
        n_folds = len(self._network_weights(folds.n)) - 1
        kept = Calibration.choose(samples, folds, valid, n_folds)
        if kept is None:
            return
        # Networks may have learned others than before.
        if not warm or kept.is_same(former):
            self._calibration = kept

    def _check_calibration(self) -> Calibration:
        """Return the rows that are kept, or refuse a model without them."""
        check_is_fitted(self)
        if self._calibration is None:
            msg = (
                "Got a model without calibration rows, but expected some, to know how "
                "far predictions are from targets. It was fitted with "
                "calibration=False, by an earlier version of lacunet, to fewer than 10 "
                "rows, or further with warm_start to other rows: fit it again."
            )
            raise LacunetError(msg)
        return self._calibration

    def _tensors(self) -> dict[str, Tensor]:
        kept = self._calibration._asdict() if self._calibration is not None else {}
        return super()._tensors() | {
            _PREFIX + name: each for name, each in kept.items()
        }

    def _load(self, tensors: dict[str, Tensor], content: Mapping[str, Any]) -> None:
        names = [_PREFIX + name for name in Calibration._fields]
        kept = [tensors.pop(name) for name in names if name in tensors]
        super()._load(tensors, content)
        self._calibration = Calibration(*kept) if kept else None
        if self._calibration is not None:
            self._check_rows(self._calibration)

    def _check_rows(self, kept: Calibration) -> None:
        """Refuse calibration rows that do not belong to the networks."""
        n_rows, n_out = len(kept.x), self.module_.out_features
        n_folds = len(self._network_weights(int(kept.n_folds))) - 1
        targets = (n_rows, n_out) if kept.targets.is_floating_point() else (n_rows,)
        known = kept.targets.is_floating_point() | (
            (kept.targets >= 0) & (kept.targets < n_out)
        )
        width = len(self._inputs.sources)
        widths = (width, width + 2 * self._inputs.n_numeric)
        check_agreement(
            calibration_x=(kept.x.ndim == 2 and kept.x.shape[1] in widths, True),
            calibration_targets=(tuple(kept.targets.shape), targets),
            calibration_folds=(tuple(kept.folds.shape), (n_rows,)),
            folds=(bool(((kept.folds >= -1) & (kept.folds < n_folds)).all()), True),
            classes=(bool(known.all()), True),
        )


def average(weights: Tensor, values: Tensor) -> Tensor:
    """Return the weighted sum over the first axis, rounded alike at each place."""
    return (weights.view(-1, *(1,) * (values.ndim - 1)) * values).sum(0)


class EncodedModel:
    """A fitted classifier or regressor, on encoded rows: what inspections ask of it.

    Encoded rows are (rows, width), NaN where a value is missing; a column of the table
    may be several of theirs. Indicators of missing values stay as they are when cells
    are hidden or filled, unless :meth:`mark` sets them.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, PredictingEstimator):
            msg = (
                f"Got a {type(model).__name__}, but expected a fitted classifier or "
                f"regressor of lacunet. {OF_PIPELINES}"
            )
            raise TypeError(msg)
        check_is_fitted(model)
        self.model = model
        table = model._inputs.table
        #: Names of the columns of the table, ``x0`` and so on in an array.
        self.names = [
            f"x{column.name}" if isinstance(column.name, int) else str(column.name)
            for column in table.columns
        ]
        #: Whether a column had no value in training.
        self.empty = np.array([column.empty for column in table.columns])
        #: The column of the table that each encoded one comes from, -1 for indicators.
        self.sources = torch.as_tensor(model._inputs.sources)
        self._hidden_with = self.sources.clone()  # also the indicators of bounds
        self.sources[table.width :] = -1
        self._starts = torch.as_tensor(table.starts)

    @property
    def n_calibration(self) -> int:
        """Number of calibration rows that are kept with the model."""
        return len(self.model._check_calibration().x)

    def encode(self, X: Any, lower: Any = None, upper: Any = None) -> Tensor:
        """Encode a table, with the checks and notices of a prediction.

        Bounds come behind the encoded rows.
        """
        return self.model._read(X, lower, upper)[1]

    def find_states(self, x: Tensor) -> Tensor:
        """Return 0, OBSERVED or BOUNDED for each cell of the table, (rows, columns)."""
        missing = torch.from_numpy(self.model._inputs.find_missing(x.cpu().numpy()))
        return torch.where(self.observed(x).cpu(), OBSERVED, BOUNDED * ~missing)

    def observed(self, x: Tensor) -> Tensor:
        """Return which cells of the table are observed, (rows, columns)."""
        return ~torch.isnan(x[:, self._starts.to(x.device)])

    def hide(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Hide cells of the table, (rows, columns) or (columns,); indicators stay."""
        hidden = hidden.expand(len(x), -1)
        padded = torch.nn.functional.pad(hidden, (0, 1))  # for a source of -1
        return x.masked_fill(padded[:, self._hidden_with.to(x.device)], torch.nan)

    def mark(self, x: Tensor, cells: Tensor) -> Tensor:
        """Set the indicators of some columns (columns,) to what rows lack there.

        Others stay: a category may be unknown, not missing.
        """
        inputs = self.model._inputs
        columns = np.concatenate([inputs.marked, inputs.bounded])
        if not len(columns):
            return x
        width = inputs.table.width
        encoded = inputs.mark(x[:, :width].cpu().numpy())
        marked = torch.as_tensor(encoded, dtype=x.dtype, device=x.device)
        some = cells[torch.as_tensor(columns)].repeat_interleave(2).to(x.device)
        marked[:, width:] = torch.where(some, marked[:, width:], x[:, width:])
        return marked

    def predict(self, x: Tensor) -> np.ndarray:
        """Return probabilities (rows, classes), or numbers (rows, outputs)."""
        return self.model._predict_rows(x)

    def needs_draws(self, x: Tensor) -> Tensor:
        """Return which rows are predicted from draws of what is missing, (rows,)."""
        return self.model._needs_draws(x)

    @torch.inference_mode()
    def draw(self, x: Tensor, n: int, seed: int = 0) -> Tensor:
        """Complete rows ``n`` times by quasi-random draws, (n, rows, width).

        By latent classes over bins, if the model has a view of them. A number is then
        the mean of its bin: columns of few values, and of a skewed or bimodal
        distribution, are drawn as they are, not as Gaussians.
        """
        views = [view for view in self.model.module_ if view.sees_bins]
        drawn = [
            views[0].draw_rows(block, n, seed)
            if views
            else self.model.density_.condition(block).quasi_sample(n, seed)
            for block in self.model._blocks(x, n)
        ]
        return torch.cat(drawn, 1)
