"""Figure 2: digits, what was removed from them, and what each method gives back."""

import numpy as np

from reproduction.experiments._autoencoders import METRICS, N_SHOWN
from reproduction.experiments._files import path_of_images, read_arrays
from reproduction.experiments._jobs import Job
from reproduction.experiments._record import Drawing, Experiment, Setting
from reproduction.experiments._sources import load_images
from reproduction.experiments._table_1 import WITHOUT_SHORT

SEED = 0
N_FIRST = 4  # images of the paper's own figure: the first of the supplement's 20


def draw_images(drawing: Drawing) -> dict[str, np.ndarray]:
    """Gather the images that the autoencoders of table 1 have given back.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict of str to ndarray of shape (20, pixels)
        ``original``, ``masked`` (NaN where a patch is removed) and each method. The
        first four are those of the paper's own figure.
    """
    (setting,) = drawing.settings
    images = load_images(setting.dataset, SEED)
    shown = {"original": images.original_test, "masked": images.test}
    for method in drawing.methods:
        job = Job("table-1", setting.dataset, None, method, 0, SEED, drawing.protocol)
        found = read_arrays(path_of_images(drawing.folder, job))
        if found:  # else it has failed
            shown[method] = found["images"]
    return {name: array[:N_SHOWN] for name, array in shown.items()}


EXPERIMENT = Experiment(
    name="figure-2",
    title="Digits, what is left of them, and what the autoencoders give back",
    settings=(Setting("mnist"),),
    stand_ins=(Setting("digits"),),
    methods=WITHOUT_SHORT,
    metrics=METRICS,
    body="autoencoder",
    cross_validated=False,
    draw=draw_images,
    cells_of="table-1",
    note="The autoencoders are those of table 1.",
)
