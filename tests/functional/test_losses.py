import pytest
import torch
from torch.nn import functional

from lacunet.functional import masked_bce, masked_mse


def test_masked_losses_are_the_plain_ones_over_observed_cells():
    prediction = torch.tensor([[0.2, 0.7], [0.9, 0.4]])
    target = torch.tensor([[0.0, torch.nan], [torch.nan, 1.0]])
    seen = ~torch.isnan(target)
    torch.testing.assert_close(
        masked_mse(prediction, target),
        functional.mse_loss(prediction[seen], target[seen]),
    )
    torch.testing.assert_close(
        masked_bce(prediction, target),
        functional.binary_cross_entropy(prediction[seen], target[seen]),
    )
    torch.testing.assert_close(
        masked_bce(prediction.logit(), target, from_logits=True),
        masked_bce(prediction, target),
    )


def test_sum_is_mean_times_number_of_observed_cells():
    prediction = torch.tensor([1.0, 2.0, 3.0])
    target = torch.tensor([0.0, torch.nan, 1.0])
    assert masked_mse(prediction, target, reduction="sum").item() == 5.0
    assert masked_mse(prediction, target).item() == 2.5


@pytest.mark.parametrize("loss", [masked_mse, masked_bce])
def test_nothing_observed_is_zero_with_zero_gradient(loss):
    prediction = torch.full((2, 2), 0.5, requires_grad=True)
    out = loss(prediction, torch.full((2, 2), torch.nan))
    out.backward()
    assert out.item() == 0.0
    assert torch.equal(prediction.grad, torch.zeros(2, 2))


def test_prediction_at_a_hole_has_no_effect_even_if_it_is_nan():
    prediction = torch.tensor([1.0, torch.nan], requires_grad=True)
    out = masked_mse(prediction, torch.tensor([0.0, torch.nan]))
    out.backward()
    assert out.item() == 1.0
    assert prediction.grad.tolist() == [2.0, 0.0]


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="target of shape"):
        masked_mse(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="Got reduction='none'"):
        masked_mse(torch.ones(2), torch.ones(2), reduction="none")
