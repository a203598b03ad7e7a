"""For each sentence the numbers that produce it, and numbers that must not."""

import re
from dataclasses import replace

import pytest
from held_out import EVIL, make_classification, make_regression
from own_comparisons import make_comparison

from lacunet._text import show_score
from lacunet.evaluation import METRICS
from lacunet.evaluation._hold_out import ClassRows, LearningStep, MissingBin
from lacunet.evaluation._scores import choose_format
from lacunet.inspection import ColumnImportance, Estimate, Importance

# --- held-out rows

SURE, DOUBT, BAD = Estimate(0.2, 0.02), Estimate(0.3, 0.2), Estimate(-0.2, 0.02)
DRAWN = Estimate(0.1, 0.01)


def leads(**changes):
    made = {"hgb": Estimate(0.1, 0.02), "trivial": Estimate(0.38, 0.03), **changes}
    return {"leads": made}


def scores(**of_ours):
    made = make_classification()
    ours = {**made.scores["lacunet"], **of_ours}
    return {"scores": {**made.scores, "lacunet": ours}}


def calibration(p_value, mean, accuracy=0.9, **changes):
    made = make_classification().calibration
    ours = replace(made["lacunet"], p_value=p_value)
    found = {"calibration": {**made, "lacunet": ours}, "mean_confidence": mean}
    return {**found, **scores(accuracy=accuracy), **changes}


def columns(*values):
    made = tuple(ColumnImportance(f"c{i}", each) for i, each in enumerate(values))
    given = Importance(tuple(replace(e, value=DRAWN) for e in made), 9, 120, "")
    return {"importance": Importance(made, 9, 120, ""), "conditional": given}


def shifts(*values, towards="ill"):
    none = Estimate(0.0, 0.01)
    made = tuple(
        ColumnImportance(f"c{i}", none, none, each, towards, 7)
        for i, each in enumerate(values)
    )
    return {"importance": Importance(made, 9, 120, "all columns")}


def by_missing(last, fewest=1, error=0.05):
    return {
        "by_missing": (
            MissingBin(0, 0, 70, {"lacunet": Estimate(0.28, error)}),
            MissingBin(fewest, 3, 50, {"lacunet": Estimate(last, error)}),
        )
    }


def epochs(n, *, last_best):
    steps = tuple(LearningStep(i, 1.0, 1.0, i <= last_best) for i in range(1, n + 1))
    return {"learning": steps}


SMALL = Estimate(0.0004, 0.0001)  # sure, but shown as 0.000
CLASSES = [ClassRows(f"rare{i}", 1 + i, 0) for i in range(3)]

# What is changed of an evaluation without a weakness, and the sentence that is wanted,
# with what must be in its text; a sentence that begins with "not " must not be there.
SENTENCES = {
    # scores
    "first": ({}, "Log-loss 56% below that of the class frequencies, AUC 0.950, on 120 "
     "held-out rows", f"Log-loss 0.300 ± 0.030; the class frequencies give 0.680. "
     f"Accuracy 90%; always predicting {EVIL!r} gives 58%."),
    "no-auc": (scores(auc=None),
     "Log-loss 56% below that of the class frequencies, on ",
     "Accuracy"),
    "trivial": (leads(trivial=Estimate(0.1, 0.08)),
     "!Log-loss not clearly below that of the class frequencies, AUC", ""),
    "worse": (leads(trivial=Estimate(-0.1, 0.01)),
     "!Log-loss not clearly below that of the class frequencies, AUC", ""),
    "not-trivial": ({}, "not Log-loss not clearly", ""),
    "one-row": ({"n_test": 1}, "Log-loss 56% below that of the class frequencies, AUC "
     "0.950, on 1 held-out row", ""),
    "accuracy-first": (scores(accuracy=0.59), "not Accuracy", ""),
    # classes
    "missed": ({"confusion": ((10, 40), (0, 70))}, "!Most rows of 'ill' are missed",
     "Recognised were 10 of 50 rows of 'ill'."),
    "all-missed": ({"confusion": ((10, 40), (60, 10))},
     f"!Most rows of 'ill' and {EVIL!r} are missed",
     "10 of 50 rows of 'ill' and 10 of 70"),
    "not-missed": ({"confusion": ((25, 25), (0, 70))}, "not Most rows", ""),
    "too-few": ({"confusion": ((1, 3), (0, 116))}, "not Most rows", ""),
    "rare": ({"classes": (ClassRows("a", 400, 120), *CLASSES), "confusion": ()},
     "!Classes with few rows",
     "'rare0', 'rare1', 'rare2': fewer than 10 training rows"),
    "not-rare": ({}, "not Classes with few", ""),
    # the rival
    "better": (leads(hgb=Estimate(0.1, 0.02)), "Better than HistGradientBoosting",
     "Log-loss 0.300 against 0.400. The difference, paired by row, is 0.100 ± 0.020."),
    "rival": (leads(hgb=Estimate(-0.1, 0.02)), "!HistGradientBoosting is better",
     "is 0.100 ± 0.020."),
    "chance": (leads(hgb=Estimate(-0.1, 0.08)), "Neither clearly better nor worse than "
     "HistGradientBoosting", "is 0.100 ± 0.080."),
    "unknown": (leads(hgb=Estimate(0.1, None)), "Neither clearly", "is 0.100."),
    "shown-equal": (leads(hgb=SMALL) | {"estimates": {"lacunet": Estimate(0.3, 0.03),
     "hgb": Estimate(0.3004, 0.03), "trivial": Estimate(0.68, 0.01)}},
     "Neither clearly",
     "Log-loss 0.300 against 0.300."),
    "few-rows": ({"n_test": 99}, "!Few held-out rows", "lacunet compare"),
    "not-few-rows": ({"n_test": 100}, "not Few held-out rows", ""),
    # calibration
    "calibrated": ({}, "Its probabilities are calibrated, as far as 120 rows can show",
     "The calibration error is 0.025; perfectly calibrated"),
    "over": (calibration(0.01, 0.97), "!Its probabilities are not calibrated, but "
     "overconfident", "a probability of 97.0% on average, and is correct in 90%"),
    "under": (calibration(0.01, 0.8), "!Its probabilities are not calibrated, but "
     "underconfident", "80%"),
    "mixed": (calibration(0.01, 0.88),
     "!Its probabilities are not calibrated, too high "
     "in some rows and too low in others", "88% on average, and is correct in 90%"),
    # P11: "gives 84% on average, and is right in 84%", of 20,000 rows
    "as-shown": (calibration(0.01, 0.836, 0.844, n_test=20_000),
     "!Its probabilities are not calibrated, too high in some rows",
     "84% on average, and "
     "is correct in 84%"),
    "not-over": (calibration(0.06, 0.97), "not Its probabilities are not", ""),
    # columns
    "relies": (columns(DOUBT, SURE, SURE, BAD), "It relies most on 'c1' and 'c2'",
     "log-loss when permuted: 0.200 ± 0.020, 0.200 ± 0.020; when drawn given the other "
     "columns: 0.100 ± 0.010, 0.100 ± 0.010. Columns that matter beyond chance: 2 of "
     "4."),
    "many": (columns(*[SURE] * 5), "It relies most on 'c0', 'c1' and 'c2'",
     ": 5 of 5."),
    "none": (columns(DOUBT, BAD), "No single column matters clearly", ": 0 of 2."),
    "shown-zero": (columns(SMALL), "No single column matters clearly", ": 0 of 1."),
    "missingness": (shifts(Estimate(0.09, 0.001), Estimate(0.2, 0.01)),
     "!Missingness of 'c1' and 'c0' matters",
     "Where 'c1' is hidden, the probability of "
     "'ill' rises by 20 points on average; where 'c0' is hidden, the probability "
     "of 'ill' "
     "rises by 9 points on average. A value"),
    "small-shift": (shifts(Estimate(0.04, 0.001)), "not Missingness", ""),
    "chance-shift": (shifts(Estimate(0.2, 0.11), None), "not Missingness", ""),
    "never": ({"never_missing": ("a",)}, "!Never missing in training: 1 column",
     "'a'."),
    "not-never": ({}, "not Never missing", ""),
    # rows by missing values
    "harder": (by_missing(0.6), "!Rows with more missing values are harder",
     "0.280 ± 0.050 in rows with 0 of 3 values missing, 0.600 ± 0.050 in rows "
     "with 1–3."),
    "easier": (by_missing(0.05), "not Rows with more", ""),
    "alike": (by_missing(0.4), "not Rows with more", ""),
    # training
    "cut": ({"timed_out": True}, "!Training was cut by the time limit after 34 epochs",
     "--time-limit"),
    "cut-soon": ({"timed_out": True, **epochs(1, last_best=1)},
     "!Training was cut by the time limit after 1 epoch", ""),
    "not-cut": ({"time_limit": 10.0}, "not Training", ""),
    "ended": ({"max_epochs": 5, **epochs(5, last_best=5)},
     "!Training ended after 5 epochs, the most that were allowed", "--max-epochs"),
    "converged": ({"max_epochs": 34}, "not Training", ""),
    "no-limit": ({"max_epochs": None, **epochs(5, last_best=5)}, "not Training", ""),
}  # fmt: skip

OF_NUMBERS = {
    "first": ({}, "Explains 50% of the variance on 120 held-out rows",
     "RMSE 50.00 ± 3.00; predicting the mean for every row gives 70.00."),
    "trivial": (leads(trivial=Estimate(0.1, 0.08)),
     "!Explains 50% of the variance on 120 "
     "held-out rows, not clearly better than predicting the mean", ""),
    "missingness": (shifts(Estimate(-7.1, 1.0), towards=None),
     "!Missingness of 'c0' matters", "Where 'c0' is hidden, predictions change by "
     "−7.10 on average."),
    "small-shift": (shifts(Estimate(6.9, 1.0), towards=None), "not Missingness", ""),
    "calibration": ({}, "not Its probabilities", ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "changes", "wanted", "text"),
    [
        pytest.param(make, *each, id=f"{make.__name__[5:]}-{name}")
        for make, table in (
            (make_classification, SENTENCES),
            (make_regression, OF_NUMBERS),
        )
        for name, each in table.items()
    ],
)
def test_numbers_have_their_sentence(make, changes, wanted, text):
    findings = make(**changes).findings
    if wanted.startswith("not "):
        assert not [e for e in findings if e.head.startswith(wanted[4:])]
    else:
        head = wanted.removeprefix("!")
        (finding,) = (each for each in findings if each.head.startswith(head))
        assert finding.weak is wanted.startswith("!")
        assert text in finding.text


def test_a_model_without_a_weakness_has_its_sentences_in_order():
    made = make_classification().findings
    assert [each.about for each in made] == [
        "scores",
        "scores",
        "calibration",
        "columns",
    ]
    assert not any(each.weak for each in made)
    missed = make_classification(confusion=((10, 40), (0, 70))).findings
    assert [each.about for each in missed][:3] == ["scores", "classes", "scores"]


# --- comparisons

OURS = [0.50, 0.52, 0.48, 0.51]
WORSE = [0.60, 0.63, 0.57, 0.62]
BETTER = [0.40, 0.41, 0.39, 0.40]
LIKE = [0.49, 0.53, 0.47, 0.52]
SAME, CLOSE = {"lacunet": OURS, "hgb": OURS}, {"lacunet": OURS, "hgb": LIKE}
FAILED = {"lacunet": [0.1, None, 0.1, None], "hgb": [None, 0.1, None, 0.1]}
CLASSIFY = {"task": "classification"}

COMPARED = {
    "best": ({"hgb": BETTER, "lacunet": OURS, "knn": WORSE, "mean": [0.9] * 4}, {},
     "best: HistGradientBoosting has the lowest RMSE", "HistGradientBoosting 0.4000 ± "
     "0.0041, lacunet 0.5025 ± 0.0085, k-nn 0.6050 ± 0.0132 (mean over 4 folds, ± "
     "standard error)."),
    "last": ({"hgb": BETTER, "mean": LIKE, "mice": LIKE, "lacunet": WORSE}, {},
     "best: Hist", ", lacunet 0.6050 ± 0.0132 on rank 4 of 4 (mean"),
    "tie": (SAME | {"knn": WORSE}, {},
     "best: lacunet and HistGradientBoosting tie for the lowest RMSE", ""),
    "shown-tie": ({"lacunet": OURS, "hgb": [v + 1e-6 for v in OURS]}, {},
     "best: lacunet and HistGradientBoosting tie for the lowest RMSE", ""),
    "constant": ({"lacunet": [5.0] * 4, "hgb": [6.0] * 4}, {},
     "best: No method is better than a constant prediction",
     "Predicting the mean of the "
     "target for every row gives 1."),
    "classes": ({"lacunet": [0.8, 0.9, 0.8, 0.9]}, CLASSIFY,
     "best: No method is better than a constant prediction",
     "the class frequencies for "
     "every row gives 0.693."),
    "failed": ({"lacunet": OURS, "hgb": [0.1, 0.1, None, 0.1]}, {},
     "best: lacunet has the lowest RMSE", ""),
    "none": (FAILED, {}, "best: No method completed every fold", ""),
    "no-tests": (FAILED, {}, "not ours: ", ""),
    "both": ({"lacunet": OURS, "knn": WORSE, "hgb": BETTER, "mice": LIKE}, {},
     "ours: lacunet is significantly better than k-nn and significantly worse than "
     "HistGradientBoosting", "HistGradientBoosting −0.1025 (p = 0.0"),
    "worse": ({"lacunet": OURS, "hgb": BETTER}, {},
     "ours: lacunet is significantly worse than HistGradientBoosting", ""),
    "count": ({"lacunet": OURS, "knn": WORSE, "hgb": WORSE, "mice": WORSE}, {},
     "ours: lacunet is significantly better than 3 of 3 other methods", ""),
    "chance": (CLOSE, {}, "ours: lacunet does not differ significantly from any other "
     "method", "with at least the variance over rows, and Holm's correction."),
    "decided": (CLOSE, CLASSIFY, "ours: ",
     "Of lacunet and HistGradientBoosting, one is "
     "right and the other is not in 40 of 40 rows."),
    "no-ours": ({"hgb": OURS, "knn": WORSE}, {}, "not ours: ", ""),
    "tiny": ({"lacunet": [2e-9, 3e-9, 2e-9], "hgb": [4e-9, 5e-9, 4e-9]}, {}, "ours: ",
     "HistGradientBoosting +2e−09"),
    "same-winner": ({"lacunet": OURS, "hgb": BETTER}, CLASSIFY, "not metrics: ", ""),
    "time": (SAME | {"mice": OURS}, {"seconds": {"lacunet": 3, "hgb": 0.25,
     "mice": 21.4}},
     "time: HistGradientBoosting is the fastest; lacunet takes 12 times as long",
     "on one core: HistGradientBoosting 0.25 s, lacunet 3.00 s, mice 21 s."),
    "fast": (SAME, {"seconds": {"lacunet": 1.4, "hgb": 1}},
     "time: HistGradientBoosting is the fastest", ""),
    "alone": ({"lacunet": OURS}, {}, "not time: ", ""),
    "missing": ({"lacunet": OURS, "hgb": BETTER, "knn": WORSE},
     {"hidden": {"age": {"lacunet": OURS, "hgb": [0.9] * 4, "knn": WORSE}}},
     "missing: With 'age' missing at prediction, lacunet has the lowest RMSE",
     "lacunet 0.5025 ± 0.0085 (0.5025 with the column), k-nn 0.6050 ± 0.0132 "
     "(0.6050 with "
     "the column), HistGradientBoosting 0.9000 ± 0.0000 (0.4000 with the column). "
     "lacunet "
     "is significantly better than HistGradientBoosting and k-nn."),
    "missing-tie": (SAME, {"hidden": {"age": SAME}}, "missing: With 'age' missing at "
     "prediction, lacunet and HistGradientBoosting tie for the lowest RMSE", ""),
    "not-missing": (SAME, {}, "not missing: ", ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "options", "wanted", "text"), COMPARED.values(), ids=COMPARED.keys()
)
def test_comparisons_have_their_sentences(values, options, wanted, text):
    made = make_comparison(values, **options)
    found = {f"{each.about}: {each.head}": each.text for each in made.findings}
    if wanted.startswith("not "):
        assert not [head for head in found if head.startswith(wanted[4:])]
    else:
        (head,) = (head for head in found if head.startswith(wanted))
        assert text in found[head]


def test_another_winner_by_another_score_is_named():
    made = make_comparison({"lacunet": OURS, "hgb": BETTER}, **CLASSIFY)
    scores, swapped = made.scores.copy(), {"lacunet": "hgb", "hgb": "lacunet"}
    auc = scores["metric"] == "auc"
    scores.loc[auc, "method"] = scores.loc[auc, "method"].map(swapped)
    found = replace(made, scores=scores).findings
    (metric,) = (each for each in found if each.about == "metrics")
    assert metric.head == "lacunet has the highest AUC"
    assert re.match(r"lacunet 0.867 ± 0.001, HistGradientBoosting 0.8\d+", metric.text)


# --- numbers


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.123456], "0.1235"),
        ([58.1234, 1.0], "58.12"),
        ([12345.6], "12,346"),
        ([3e-9], "3e-09"),
        ([2.5e12], "2.5e+12"),
        ([0.0, None], "0.000"),
    ],
)
def test_errors_have_four_digits_whatever_their_unit(values, shown):
    form = choose_format(METRICS["regression"][0], values)
    assert show_score(values[0], form) == shown.replace("-", "−")
