"""Training on incomplete or on complete rows, to predict with incomplete ones."""

from reproduction.experiments import _table_6
from reproduction.experiments._record import Budget, Experiment

EXPERIMENT = Experiment(
    name="claim-rows",
    title="The paper's method on incomplete rows, trained on such rows or on complete "
    "ones",
    settings=_table_6.EXPERIMENT.settings,
    stand_ins=_table_6.EXPERIMENT.stand_ins,
    methods=("paper", "paper-complete"),
    body="rbf",
    cross_validated=False,
    budgets={
        "paper": Budget(n_seeds=5),
        "quick": Budget({"max_epochs": 50}),
        "digits": Budget({"max_epochs": 20}, n_rows=250),
    },
    note="Both are tested on the same incomplete rows. One is trained on rows that "
    "have lost half of their values as well, the other on the same rows as they were "
    "before: it sees more, but its density gets no gradient.",
)
