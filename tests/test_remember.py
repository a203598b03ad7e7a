"""What is computed once as long as parameters stay."""

import copy

import torch

from lacunet._remember import remember, remembering
from lacunet.density import GaussianMixtureDensity


def make_counted():
    layer = torch.nn.Linear(2, 2)
    calls = []

    def compute():
        calls.append(None)
        return layer.weight.sum() * 1.0

    return layer, calls, lambda: remember(layer, "sum", layer.parameters(), compute)


def test_a_value_is_computed_once_and_again_when_a_parameter_changes():
    layer, calls, found = make_counted()
    with remembering(), torch.no_grad():
        assert found() is found()
        layer.weight.add_(1.0)
        assert found() == layer.weight.sum()
        layer.load_state_dict({k: 2 * v for k, v in layer.state_dict().items()})
        assert found() == layer.weight.sum()
        layer.weight = torch.nn.Parameter(torch.ones(2, 2))
        assert found() == 4.0
    assert len(calls) == 4


def test_nothing_is_kept_where_gradients_flow_or_nobody_asks():
    layer, calls, found = make_counted()
    with remembering():
        assert found().requires_grad
        found()
    with torch.no_grad():
        found()
        found()
    assert len(calls) == 4


def test_what_was_kept_in_inference_mode_takes_part_in_gradients():
    layer, _, found = make_counted()
    layer.requires_grad_(False)
    with remembering():
        with torch.inference_mode():
            found()
        x = torch.ones(1, requires_grad=True)
        (x * found()).sum().backward()
    assert x.grad == layer.weight.sum()


def test_modules_with_memories_can_be_copied():
    density = GaussianMixtureDensity(2, 3)
    with remembering(), torch.inference_mode():
        known = density.components
        again = copy.deepcopy(density).components
    assert all(torch.equal(*pair) for pair in zip(known, again, strict=True))
