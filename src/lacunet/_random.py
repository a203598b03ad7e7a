"""From a random state to a torch generator, without touching the global ones."""

import numpy as np
import torch


def torch_generator(random_state: np.random.RandomState) -> torch.Generator:
    """Make a CPU generator whose seed is drawn from ``random_state``."""
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    return torch.Generator().manual_seed(seed)
