"""Predictions of a fitted model, from a table or from encoded rows."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from lacunet._remember import remembering
from lacunet.estimators._base import NetworkEstimator
from lacunet.estimators._fit import Criterion

# Products of fewer rows are computed another way, and rounded otherwise: a row alone
# would not have the prediction that it has among others.
_FEW_ROWS = 16


class PredictingEstimator(NetworkEstimator):
    """Base of the classifiers and of the regressor."""

    _criterion: ClassVar[Criterion]

    @abstractmethod
    def _finish(self, means: np.ndarray) -> np.ndarray:
        """Return probabilities, or numbers in their own units: (..., rows, out)."""

    def _predict_table(self, X: Any) -> np.ndarray:
        """Return the mean prediction of all networks, (n_samples, out)."""
        return self._predict_rows(self._read(X)[1])

    def _predict_rows(self, x: Tensor) -> np.ndarray:
        """Return the mean prediction of all networks for encoded rows."""
        drawn = self._needs_draws(x)
        means = torch.empty(len(x), self._fitted_body.out_features, dtype=torch.float64)
        for rows, draws in ((~drawn, 0), (drawn, int(self.n_samples))):
            if rows.any():
                blocks = x[rows].split(self._block_size(draws))
                with torch.inference_mode(), remembering():
                    parts = [self._mean_of(block, draws) for block in blocks]
                means[rows.cpu()] = torch.cat(parts)
        return self._finish(means.numpy())

    def _needs_draws(self, x: Tensor) -> Tensor:
        """Return which encoded rows are predicted from draws, by ``propagate``."""
        if self.propagate != "auto":
            return torch.full((len(x),), self.propagate == "sample", device=x.device)
        table = self._inputs.table
        missing, unseen = (
            torch.isnan(x[:, torch.as_tensor(places, device=x.device)]).sum(1)
            for places in (table.starts, table.complete_places)
        )
        return (unseen > 0) | (missing > self._most_missing)

    def _mean_of(self, x: Tensor, draws: int) -> Tensor:
        # Averaged in double precision: in single, the rounding of a mean over networks
        # depends on a row's place in its block. On the CPU: not every device has it.
        mean = torch.zeros((), dtype=torch.float64)
        n_more = 0 if draws else max(0, _FEW_ROWS - len(x))
        padded = torch.cat((x, x[-1:].expand(n_more, -1))) if n_more else x
        for view, weight in zip(
            self.module_, self.module_.view_weights.tolist(), strict=True
        ):
            if weight > 0:
                outputs = view.forward_draws(x, draws) if draws else view(padded)
                predictions = self._criterion.predict(outputs)[..., : len(x), :]
                means = predictions.cpu().double().flatten(0, -3).mean(0)
                mean = mean + weight * means
        return mean


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
                f"regressor of lacunet."
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
        #: The column of the table that each encoded one comes from, -1 for indicators.
        self.sources = torch.as_tensor(model._inputs.sources)
        self._starts = torch.as_tensor(table.starts)

    def encode(self, X: Any) -> Tensor:
        """Encode a table, with the checks and notices of a prediction."""
        return self.model._read(X)[1]

    def observed(self, x: Tensor) -> Tensor:
        """Return which cells of the table are observed, (rows, columns)."""
        return ~torch.isnan(x[:, self._starts.to(x.device)])

    def hide(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Hide cells of the table, (rows, columns) or (columns,); indicators stay."""
        hidden = hidden.expand(len(x), -1)
        padded = torch.nn.functional.pad(hidden, (0, 1))  # for a source of -1
        return x.masked_fill(padded[:, self.sources.to(x.device)], torch.nan)

    def mark(self, x: Tensor) -> Tensor:
        """Set the indicators to what is missing in the rows."""
        inputs = self.model._inputs
        if not len(inputs.marked):
            return x
        encoded = x[:, : inputs.table.width].cpu().numpy()
        return torch.as_tensor(inputs.mark(encoded), dtype=x.dtype, device=x.device)

    def predict(self, x: Tensor) -> np.ndarray:
        """Return probabilities (rows, classes), or numbers (rows, outputs)."""
        return self.model._predict_rows(x)

    def needs_draws(self, x: Tensor) -> Tensor:
        """Return which rows are predicted from draws of what is missing, (rows,)."""
        return self.model._needs_draws(x)

    @torch.inference_mode()
    def draw(self, x: Tensor, n: int, seed: int = 0) -> Tensor:
        """Complete rows ``n`` times by quasi-random draws, (n, rows, width)."""
        blocks = self.model._blocks(x, n)
        density = self.model.density_
        drawn = [density.condition(block).quasi_sample(n, seed) for block in blocks]
        return torch.cat(drawn, 1)

    @torch.inference_mode()
    def draw_in_bins(self, x: Tensor, n: int, seed: int = 0) -> Tensor:
        """Do the same by latent classes over bins, if the model has a view of them.

        A number is then the mean of its bin. Columns of few values, and of a skewed or
        bimodal distribution, are drawn as they are, not as Gaussians.
        """
        for view in self.model.module_:
            if view.sees_bins:
                blocks = self.model._blocks(x, n)
                drawn = [view.draw_rows(block, n, seed) for block in blocks]
                return torch.cat(drawn, 1)
        return self.draw(x, n, seed)
