import pytest
import torch

from lacunet.estimators._hiding import hide_in_some, hide_patches


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_patch_of_every_image_is_hidden_anywhere():
    x = torch.zeros(4000, 12 * 8)
    hidden = torch.isnan(hide_patches(x, 0.25, (12, 8), source())).view(-1, 12, 8)
    rows, columns = hidden.any(2), hidden.any(1)
    assert (rows.sum(1) == 6).all()
    assert (columns.sum(1) == 4).all()
    assert (hidden == rows[:, :, None] & columns[:, None, :]).all()  # one rectangle
    starts = rows.int().argmax(1).bincount(minlength=7)
    assert len(starts) == 7  # the first row from 0 to 6
    assert (starts - 4000 / 7).abs().max() < 100
    first = torch.isnan(hide_patches(x[:1], 0.25, (12, 8), source()))
    again = torch.isnan(hide_patches(x[:1], 0.25, (12, 8), source()))
    other = torch.isnan(hide_patches(x[:1], 0.25, (12, 8), source(1)))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("rate", [1e-4, 0.5])
def test_a_patch_has_a_pixel_at_least_and_fits(rate):
    x = torch.arange(9.0).expand(50, 9)
    out = hide_patches(x, rate, (3, 3), source())
    hidden = torch.isnan(out)
    assert (hidden.sum(1) == (1 if rate < 0.1 else 4)).all()
    assert torch.equal(out[~hidden], x[~hidden])


def test_something_is_hidden_in_a_share_of_the_rows_and_nothing_in_the_others():
    x = torch.zeros(4000, 3)
    hidden = hide_in_some(
        x, 0.25, lambda rows, _: torch.full_like(rows, torch.nan), source()
    )
    of_row = torch.isnan(hidden).double().mean(1)
    assert set(of_row.tolist()) == {0.0, 1.0}
    assert abs(float(of_row.mean()) - 0.25) < 4 * (0.25 * 0.75 / 4000) ** 0.5
    assert not torch.isnan(x).any()
