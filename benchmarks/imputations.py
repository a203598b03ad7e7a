"""Do pooled intervals cover? Multiple imputation of a column that is half missing.

``python -m benchmarks.imputations``: 400 rows of three dependent normal columns, of
which the last is missing in half of the rows: completely at random (mcar), or the more
often the larger the first column is (mar). Each method completes the table 20 times;
the mean of the incomplete column, its regression on the others, and a regression with
it among the predictors are pooled by Rubin's rules. Counted is how often an interval of
95% covers the truth, over 500 repetitions (100 for the methods to compare with). With
the right coverage it is between 93.1% and 96.9%, with a probability of 95%.

Everything was chosen on seeds from 10,000 on; seeds 0 to 499 are those of the results.
What is in the file is not measured again: delete it after a change.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from lacunet import LacunetImputer
from lacunet.inspection import pool

OUT = Path("benchmarks/results/imputations.json")
N_ROWS = 400
N_TABLES = 20
MECHANISMS = ("mcar", "mar")
QUANTITIES = (
    "mean of y",
    "y on x1, x2: x1",
    "y on x1, x2: x2",
    "x1 on y, x2: y",
    "x1 on y, x2: x2",
)
# Variances of x1 and x2 are one, their covariance 0.5, and y = 1 + x1 - x2 / 2 + noise.
COVARIANCE = np.array([[1.0, 0.5, 0.75], [0.5, 1.0, 0.0], [0.75, 0.0, 1.75]])
TRUTH = np.array(
    [
        1.0,
        *np.linalg.solve(COVARIANCE[:2, :2], COVARIANCE[:2, 2]),
        *np.linalg.solve(COVARIANCE[np.ix_([2, 1], [2, 1])], COVARIANCE[[2, 1], 0]),
    ]
)
Complete = Callable[[np.ndarray, int], list[np.ndarray]]
EVERY = 10  # repetitions after which the file is written


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, and print the coverage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=500, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args(argv)
    results: dict[str, Any] = {"first_seed": options.first, "quantities": QUANTITIES}
    if options.out.exists():
        results = json.loads(options.out.read_text("utf-8"))
    if results["first_seed"] != options.first:
        parser.error(f"Got --first {options.first} for a file of other seeds.")
    runs = results.setdefault("runs", {m: {} for m in MECHANISMS})
    for name, (complete, most) in METHODS.items():
        for number in range(min(options.seeds, most)):
            for mechanism in MECHANISMS:
                run = runs[mechanism].setdefault(
                    name,
                    {"covered": [], "sum_of_errors": [0.0], "sum_of_widths": [0.0]},
                )
                if len(run["covered"]) <= number:
                    measure(run, mechanism, options.first + number, complete)
            if number % EVERY == EVERY - 1 or number == min(options.seeds, most) - 1:
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(summarise(runs))


def make_table(seed: int, mechanism: str) -> np.ndarray:
    """Return a table whose last column is missing in half of the rows."""
    rng = np.random.default_rng(seed)
    mean = np.array([0.0, 0.0, 1.0])
    X = mean + rng.standard_normal((N_ROWS, 3)) @ np.linalg.cholesky(COVARIANCE).T
    if mechanism == "mcar":
        missing = rng.permutation(N_ROWS) < N_ROWS // 2
    else:
        missing = rng.random(N_ROWS) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    X[missing, 2] = np.nan
    return X


def analyse(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return estimates of a complete table, and their squared standard errors."""
    y = table[:, 2]
    estimates, variances = [np.array([y.mean()])], [np.array([y.var(ddof=1) / len(y)])]
    for target, predictors in ((2, [0, 1]), (0, [2, 1])):
        design = np.column_stack([np.ones(len(table)), table[:, predictors]])
        inverse = np.linalg.inv(design.T @ design)
        slopes = inverse @ design.T @ table[:, target]
        rest = table[:, target] - design @ slopes
        noise = rest @ rest / (len(table) - design.shape[1])
        estimates.append(slopes[1:])
        variances.append(noise * np.diag(inverse)[1:])
    return np.concatenate(estimates), np.concatenate(variances)


def measure(run: dict[str, Any], mechanism: str, seed: int, complete: Complete) -> None:
    """Add a repetition to what is counted."""
    found = [analyse(table) for table in complete(make_table(seed, mechanism), seed)]
    pooled = pool(*zip(*found, strict=True), df_complete=N_ROWS - 3)
    covered = (pooled.low <= TRUTH) & (pooled.high >= TRUTH)
    run["covered"].append("".join(str(int(each)) for each in covered))
    for key, values in (
        ("sum_of_errors", pooled.estimate - TRUTH),
        ("sum_of_widths", pooled.high - pooled.low),
    ):
        run[key] = (np.array(run[key]) + values).round(6).tolist()


def draw_lacunet(X: np.ndarray, seed: int) -> list[np.ndarray]:
    imputer = LacunetImputer(random_state=seed).fit(X)
    return imputer.sample_imputations(X, N_TABLES)


def draw_fixed_parameters(X: np.ndarray, seed: int) -> list[np.ndarray]:
    imputer = LacunetImputer(random_state=seed, keep_rows=False).fit(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Got a model without the rows")
        return imputer.sample_imputations(X, N_TABLES)


def draw_chained(X: np.ndarray, seed: int) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            IterativeImputer(sample_posterior=True, random_state=each).fit_transform(X)
            for each in range(N_TABLES * seed, N_TABLES * (seed + 1))
        ]


# How each completes a table, and the largest number of repetitions.
METHODS: dict[str, tuple[Complete, int]] = {
    "lacunet": (draw_lacunet, 500),
    "lacunet, keep_rows=False": (draw_fixed_parameters, 100),
    "IterativeImputer(sample_posterior=True)": (draw_chained, 100),
}


def summarise(runs: dict[str, Any]) -> str:
    """Return coverage, mean error and mean width of the intervals as a table."""
    lines = ["| | | " + " | ".join(QUANTITIES) + " |", "|---|---|" + "---|" * 5]
    for mechanism, methods in runs.items():
        for name, run in methods.items():
            n = len(run["covered"])
            covered = np.array([[int(c) for c in each] for each in run["covered"]])
            cells = [
                f"{fraction:.1%} (error {error / n:+.3f}, width {width / n:.3f})"
                for fraction, error, width in zip(
                    covered.mean(0),
                    run["sum_of_errors"],
                    run["sum_of_widths"],
                    strict=True,
                )
            ]
            lines.append(f"| {mechanism} | {name}, n = {n} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
