import functools

import made_up
import pytest


@pytest.fixture
def make_cell():
    """Make a cell from the fields that matter."""
    return functools.partial(made_up.make_cell, params={"n_components": 3})
