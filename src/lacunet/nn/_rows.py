"""Known rows the ordinary way, rows with holes the expected way, order kept."""

from collections.abc import Callable

import torch
from torch import Tensor

from lacunet._validation import check_no_infinity


def apply_by_row(
    x: Tensor, known: Callable[[Tensor], Tensor], expected: Callable[[Tensor], Tensor]
) -> Tensor:
    """Apply ``known`` to the complete rows of ``x`` and ``expected`` to the others.

    Parameters
    ----------
    x : Tensor of shape (batch, *)
        NaN marks a missing value.
    known, expected : callable
        From (rows, *) to (rows, *out); they agree on complete rows.
    """
    if torch.compiler.is_compiling():
        # Which rows are complete depends on the data: one way that is right for all.
        return expected(x)
    # One pass: a sum is finite unless something in it is not (or it overflows).
    if bool(torch.isfinite(x.sum())):
        return known(x)
    incomplete = torch.isnan(x).flatten(1).any(1)
    if bool(incomplete.all()):
        return expected(x)
    if not bool(incomplete.any()):
        check_no_infinity(x)
        return known(x)
    rows = incomplete.nonzero()[:, 0]
    others = (~incomplete).nonzero()[:, 0]
    complete = x[others]
    check_no_infinity(complete)
    answers = known(complete)
    out = answers.new_empty((len(x), *answers.shape[1:]))
    return out.index_copy(0, others, answers).index_copy(
        0, rows, expected(x[rows]).to(out.dtype)
    )
