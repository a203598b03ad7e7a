"""Table 2: a perceptron on seizures, with more and more values removed."""

from reproduction.experiments._columns import (
    BEYOND,
    FEW_TREES,
    OURS_AT_DEFAULTS,
    PUBLISHED,
)
from reproduction.experiments._record import Budget, Experiment, Setting

COLUMNS = (*PUBLISHED, "ce")
REPORTED = {
    0.25: (0.773, 0.823, 0.799, 0.823, 0.796, 0.815, 0.812),
    0.50: (0.773, 0.816, 0.703, 0.801, 0.780, 0.817, 0.813),
    0.75: (0.628, 0.786, 0.624, 0.748, 0.755, 0.787, 0.792),
    0.90: (0.615, 0.670, 0.596, 0.697, 0.749, 0.760, 0.771),
}
COMPLETE = "complete"


def _rows(dataset: str, rates: tuple[float, ...]) -> tuple[Setting, ...]:
    """Return the rows of a data set, that of the complete data first."""
    holed = (*COLUMNS, *BEYOND)
    return (
        Setting(dataset, 0.0, (COMPLETE, "lacunet", "hgb")),
        *(Setting(dataset, rate, holed) for rate in rates),
    )


EXPERIMENT = Experiment(
    name="table-2",
    title="Classification of EEG recordings by a perceptron, with values removed",
    settings=(*_rows("esr", tuple(REPORTED)), *_rows("esr-recordings", (0.5,))),
    stand_ins=_rows("digits", (0.5, 0.9)),
    methods=(COMPLETE, *COLUMNS, *BEYOND),
    body="mlp",
    # One split for each seed, and nothing chosen: a fit takes minutes.
    cross_validated=False,
    reported={
        "accuracy": {
            ("esr", 0.0): {COMPLETE: 0.836},
            **{
                ("esr", rate): dict(zip(COLUMNS, values, strict=True))
                for rate, values in REPORTED.items()
            },
        }
    },
    # Three ReLU layers, as the paper says; 89 units, as in the authors' code. Dropout
    # was chosen by rows held back from training: see benchmarks/seizures.py.
    parameters={
        "hidden_layer_sizes": (89, 89, 89),
        "activation": "relu",
        "dropout": 0.25,
        "n_networks": 1,
        "n_nearest_features": 30,
    },
    budgets={
        "quick": Budget({"n_networks": 1, "max_epochs": 30}, n_rows=3000),
        "digits": Budget(
            {"max_epochs": 20, "n_imputations": 2, "n_nearest_features": 5},
            n_rows=500,
            of_method=FEW_TREES,
        ),
    },
    note="The paper is silent on widths and on how rows are split. The set has 23 rows "
    "of each recording: split by rows, as the paper seems to do, test rows have "
    "siblings in training. The rows of esr-recordings are split by recordings. One "
    "fifth of the rows is tested on, once for each seed, and mixtures have three "
    f"components: nothing is chosen by inner folds. {OURS_AT_DEFAULTS}",
)
