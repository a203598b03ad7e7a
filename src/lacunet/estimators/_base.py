"""What the estimators share: tables in, a density of them, tables out, saving."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lacunet._random import torch_generator
from lacunet._validation import check_positive_int
from lacunet._versions import find_versions
from lacunet.density import MixtureDensity
from lacunet.estimators._contract import read_table
from lacunet.estimators._fitting import (
    to_tensor,
    undisturbed,
)
from lacunet.estimators._inputs import (
    FOR_NETWORKS,
    FOR_TABLES,
    InputEncoder,
)
from lacunet.estimators._models import (
    check_agreement,
    check_no_nan,
    pack_array,
    pack_parameters,
    unpack_array,
)
from lacunet.estimators._network import BranchShape
from lacunet.estimators._parameters import (
    check_parameters,
    check_prediction_parameters,
    find_device,
)
from lacunet.estimators._saving import AnyPath, write_model
from lacunet.exceptions import warn_user

# Numbers that a block of rows may hold at once in a layer: 64 MB in single precision.
BLOCK_BUDGET = 2**24
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

    def save(self, path: AnyPath, *, texts: Mapping[str, str] | None = None) -> None:
        """Write the fitted model: a folder with two files, and no code.

        Parameters
        ----------
        path : str or PathLike
            The folder; a model that is there already is replaced. It is written under
            another name first, so that there is never half a model.
        texts : mapping of str to str, default=None
            Further files of the folder, by name, such as a card that says what the
            model is for.
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
        write_model(path, self._networks().state_dict(), content, texts)

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
        yield from x.split(max(1, BLOCK_BUDGET // each))

    def _restore(self, filled: Tensor, table: Any) -> Any:
        encoder = self._inputs.table
        encoded = filled[:, : encoder.width].cpu().double().numpy()
        return encoder.restore(encoded, table)


def _pack_names(estimator: BaseEstimator) -> dict[str, Any] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else pack_array(names)
