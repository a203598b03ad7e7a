"""What every density is to the layers: a module that conditions and scores rows."""

from abc import abstractmethod
from collections.abc import Collection

from torch import Tensor, nn

from lacunet._validation import check_choice, check_rows, check_same_dtype
from lacunet.functional import Components, ConditionalMixture
from lacunet.functional._cells import Cells, split_cells


class MixtureDensity(nn.Module):
    """A mixture over rows that may have holes, as a trainable module."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def gamma(self) -> Tensor:
        """The regulariser: variance of the noise on observed values."""

    @property
    @abstractmethod
    def components(self) -> Components:
        """The record that the functions of ``lacunet.functional`` take."""

    def condition(self, x: Tensor) -> ConditionalMixture:
        """Compute F_S of every row of ``x``, see :func:`lacunet.functional.condition`.

        Parameters
        ----------
        x : Tensor of shape (batch, n_features)
            NaN marks a missing value.

        Returns
        -------
        ConditionalMixture
        """
        components = self.components
        return components.condition(self._split(x, components), self.gamma)

    def log_prob(self, x: Tensor) -> Tensor:
        """Compute the log density of each row's observed cells, without gamma.

        Add ``-density.log_prob(x).mean()`` to a loss to keep it a density of the data.

        Parameters
        ----------
        x : Tensor of shape (batch, n_features)
            NaN marks a missing value. A row with nothing observed has log density 0.

        Returns
        -------
        Tensor of shape (batch,)
        """
        components = self.components
        cells = self._split(x, components)
        given = components.log_likelihood(cells, x.new_zeros(()))
        return (components.log_weights + given).logsumexp(-1).to(x.dtype)

    forward = log_prob

    def _split(self, x: Tensor, components: Components) -> Cells:
        """Check the batch and take it apart."""
        check_rows(x, self.n_features)
        check_same_dtype(x, components.log_weights)
        return split_cells(x)


def chosen_parts(
    trainable: bool | Collection[str], parts: tuple[str, ...]
) -> Collection[str]:
    """Return the names of the parts that shall take gradients."""
    if isinstance(trainable, bool):
        return parts if trainable else ()
    chosen = (trainable,) if isinstance(trainable, str) else trainable
    for part in chosen:
        check_choice(part, parts, "trainable")
    return chosen
