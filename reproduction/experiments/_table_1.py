"""Table 1: autoencoders of digits from which a patch is removed."""

from reproduction.experiments._autoencoders import AUTOENCODERS, METRICS, SHORT
from reproduction.experiments._record import Budget, Experiment, Setting

COLUMNS = ("knn", "mean", "dropout", "paper", "ce")
REPORTED = {
    "mse": (0.01189, 0.01727, 0.01379, 0.01056, 0.01326),
    "mse_inside": (0.00722, 0.00898, 0.00882, 0.00810, 0.00710),
    "mse_outside": (0.00468, 0.00829, 0.00498, 0.00246, 0.00617),
}
# Sides of patches: 13 is the paper's, 10 the default in the authors' code.
WITHOUT_SHORT = tuple(method for method in AUTOENCODERS if method != SHORT)
OTHER_PATCHES = ("mnist-5", "mnist-7", "mnist-10")

EXPERIMENT = Experiment(
    name="table-1",
    title="Squared error of autoencoders on digits from which a patch is removed",
    settings=(
        Setting("mnist"),
        *(
            Setting(name, methods=COLUMNS, protocols=("paper", "quick"))
            for name in OTHER_PATCHES
        ),
    ),
    stand_ins=(Setting("digits", methods=WITHOUT_SHORT),),
    methods=tuple(AUTOENCODERS),
    metrics=METRICS,
    body="autoencoder",
    protocols=("paper", "authors", "quick"),
    cross_validated=False,
    reported={
        metric: {("mnist", None): dict(zip(COLUMNS, values, strict=True))}
        for metric, values in REPORTED.items()
    },
    # The same for all columns, those of the paper's method among them.
    parameters={"schedule": "one-cycle", "lr": 3e-3, "validation_fraction": 0.02},
    budgets={
        "paper": Budget(
            {"max_epochs": 30, "batch_size": 64}, of_method={SHORT: {"max_epochs": 7}}
        ),
        "authors": Budget({"max_epochs": 30}),
        "quick": Budget(
            {"max_epochs": 5, "batch_size": 256},
            n_rows=10_000,
            of_method={SHORT: {"max_epochs": 2}},
        ),
        "digits": Budget({"max_epochs": 15, "batch_size": 64}),
    },
    note="13 x 13 of 28 x 28 pixels are removed from every image, at places drawn "
    "once. The split is that of the data set, with one start for each seed. Errors are "
    "squares divided by all pixels, so inside and outside add up to the total. The "
    "context encoder is shown the complete images in training.",
)
