"""Numbers seen as levels."""

import pytest
import torch

from lacunet.nn._levels import Levels

NAN = torch.nan
INF = torch.inf


@pytest.fixture
def levels():
    view = Levels([1, 3, 0])
    view.set_edges([[0.0], [-1.0, 0.5, 2.0], []])
    return view


def test_a_number_is_in_one_level_of_its_own_group(levels):
    x = torch.randn(50, 5, generator=torch.Generator().manual_seed(0))
    seen = levels(x)
    assert seen.shape == (50, 2 + 4 + 1 + 2)
    for group in seen[:, :7].split(levels.sizes, 1):
        assert ((group == 0) | (group == 1)).all()
        assert (group.sum(1) == 1).all()


def test_a_missing_number_is_missing_in_its_whole_group_and_no_other(levels):
    seen = levels(torch.tensor([[0.3, NAN, 1.0, 5.0, NAN]]))
    expected = torch.tensor([[0.0, 1, NAN, NAN, NAN, NAN, 1, 5, NAN]])
    torch.testing.assert_close(seen, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("number", "level"),
    [(-INF, 0), (-1.0, 0), (-0.999, 1), (0.5, 1), (0.501, 2), (2.0, 2), (2.1, 3)],
)
def test_an_edge_belongs_to_the_level_below(levels, number, level):
    seen = levels(torch.tensor([[0.0, number, 0.0]]))
    assert seen[0, 2:6].argmax() == level


def test_what_stands_behind_the_numbers_is_passed_on(levels):
    x = torch.cat((torch.zeros(4, 3), torch.randn(4, 2)), 1)
    assert torch.equal(levels(x)[:, 7:], x[:, 3:])


def test_the_state_holds_the_edges_and_nothing_else(levels):
    assert list(levels.state_dict()) == ["edges"]
    again = Levels([1, 3, 0])
    again.load_state_dict(levels.state_dict())
    x = torch.randn(20, 4)
    assert torch.equal(again(x), levels(x))


def test_another_number_of_edges_does_not_fit(levels):
    with pytest.raises(RuntimeError, match="edges"):
        Levels([1, 2, 0]).load_state_dict(levels.state_dict())


def test_tables_without_numbers_are_passed_on():
    view = Levels([])
    view.set_edges([])
    x = torch.randn(3, 2)
    assert torch.equal(view(x), x)


def test_the_dtype_of_edges_is_an_argument():
    view = Levels([2], dtype=torch.float64)
    view.set_edges([[0.1, 0.2]])
    assert view.edges.dtype == torch.float64
    assert view(torch.tensor([[0.15]])).dtype == torch.float32
