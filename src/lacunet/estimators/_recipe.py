"""Every number of the default recipe that tunes something, each with its evidence."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """What estimators do where the user leaves it to them.

    "Tables" below are the real incomplete ones that the defaults are chosen on, by mean
    log-loss or 1 - R² over them, on folds that nothing is reported on. Figures are of
    first trials there; what has none was taken over from others' practice.
    """

    # --- numbers
    # Standard deviations by the quartiles that a column's own exceeds: then quantiles
    # are its scale (polish_bankruptcy_5y: 0.105 instead of 0.140 on values alone).
    heavy_tails: float = 3.0

    # --- bins of numbers
    histogram: int = 256  # quantiles that edges are chosen among
    few_values: int = 32  # a number of so many values has a bin for each of them
    leaves: int = 16  # of a tree on one column: edges where the target changes
    leaf_rows: int = 10
    quantiles: int = 16  # bins of equal weight beside these
    bins_of_column: int = 32
    most_bins: int = 1024  # of a whole table; wider ones have fewer a column

    # --- densities
    # From so many numeric columns on there may be factors, for signals and images. On
    # six tables of fewer columns they gained 0.2%, in a third more time; predictions
    # take ten times as long.
    many_columns: int = 60
    classes: int = 4  # latent classes over bins: with one, soybean 0.168, not 0.155
    rows_of_classes: int = 2_500  # for EM
    time_of_em: float = 1 / 3  # of time_limit: it is a start, training needs the rest

    # --- networks
    n_networks: int = 10  # five of each view: as many as folds
    many_rows: int = 2_000  # from there on networks differ less
    # In three quarters of the time of six; six tables, one fold: within 0.4% of it in
    # the median.
    n_networks_of_many: int = 4
    hidden_layer_sizes: tuple[int, ...] = (128, 128)
    dropout: float = 0.15
    # Of the inputs hidden in training. Networks that see values and no bins have all of
    # them: where a target is a function of few columns, hiding these hides it
    # (loans: 1 - R² of 0.45 with a tenth hidden, 0.06 without).
    hidden_inputs_of_bins: float = 0.1
    hidden_inputs_of_values: float = 0.0

    # --- training: a constant learning rate until validation rows get no better, then
    # one that falls to nothing, from the best weights on
    # With batches of a tenth of the rows: 0.7% better than 3e-3 with half of them (six
    # tables, two folds).
    lr: float = 4e-3
    weight_decay: float = 1e-2
    anneal: float = 0.5
    warmup: int = 50  # steps, at most a tenth of all
    # Rounded to epochs, from 8 to 60. On made data of 100,000 rows 0.5260 instead of
    # 0.5254 with 1,500, in a tenth less time.
    most_steps: int = 1200
    fewest_epochs: int = 8
    most_epochs: int = 60
    patience_steps: int = 160  # rounded to epochs, from 2 to 8
    validation_rows: int = 5_000  # more tell no more
    validation_steps: int = 60  # of an epoch that has a validation of its own

    def batch_size(self, n_rows: int) -> int:
        """Return the rows of a step: some ten steps an epoch, of 128 to 512 rows.

        A thousand rows where there are fifty thousand.
        """
        if n_rows >= 50_000:
            return 1024
        return int(min(512, max(128, 2 ** round(math.log2(max(1, n_rows) / 10)))))

    def epochs(self, n_steps: int) -> int:
        """Return the largest number of epochs of so many steps."""
        epochs = round(self.most_steps / n_steps)
        return min(self.most_epochs, max(self.fewest_epochs, epochs))

    def patience(self, n_steps: int) -> int:
        """Return for how many epochs of so many steps validation rows may be worse."""
        return min(8, max(2, round(self.patience_steps / n_steps)))

    def validate_every(self, n_steps: int) -> int:
        """Return the epochs from one validation to the next, which takes a third."""
        return 1 if n_steps >= self.validation_steps else 2


RECIPE = Recipe()
