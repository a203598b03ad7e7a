"""Expected responses of radial basis functions."""

from torch import Tensor

from lacunet._validation import check_shape
from lacunet.functional._mixture import ConditionalMixture


def expected_rbf(
    mixture: ConditionalMixture,
    centres: Tensor,
    variances: Tensor,
    *,
    normalise: bool = False,
) -> Tensor:
    """Compute E[N(centre, diag(variances))(x)] over F_S for every unit.

    Theorem 3.2 of the paper, ``sum_i r_i * N(m_i - c, V + S_i)(0)``, in log space. In
    many dimensions a density under- or overflows; normalised responses do not.

    Parameters
    ----------
    mixture : ConditionalMixture
        F_S of a batch, from :func:`condition`, of any covariance type.
    centres, variances : Tensor of shape (units, features)
        Of the radial functions.
    normalise : bool, default=False
        Divide by the sum over the units, so that the responses of a row sum to one;
        finite however far away the row is.

    Returns
    -------
    Tensor of shape (batch, units)

    Examples
    --------
    >>> import torch
    >>> from lacunet.functional import DiagComponents, condition, expected_rbf
    >>> one = DiagComponents(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2))
    >>> mixture = condition(torch.tensor([[1e6, torch.nan]]), one, gamma=0.1)
    >>> centres = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> expected_rbf(mixture, centres, torch.ones(2, 2), normalise=True)
    tensor([[0., 1.]])
    """
    check_shape(centres, (len(centres), mixture.observed.shape[1]), "centres")
    check_shape(variances, centres.shape, "variances")
    given = mixture.log_rbf(centres, variances)  # (batch, components, units)
    log_response = (mixture.log_weights[..., None] + given).logsumexp(1)
    if normalise:
        return log_response.softmax(-1).to(centres.dtype)
    return log_response.exp().to(centres.dtype)
