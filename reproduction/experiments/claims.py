"""The paper's statements, each with a rule that results are judged by."""

from functools import partial
from os import PathLike
from pathlib import Path

from reproduction.experiments import _claims_accuracy as accuracy
from reproduction.experiments import _claims_figures as figures
from reproduction.experiments import _claims_images as images
from reproduction.experiments._claims_record import (
    OPEN,
    Claim,
    Evidence,
    LackingError,
    Verdict,
)
from reproduction.experiments._record import DIGITS
from reproduction.statistics import read_results

__all__ = ["CLAIMS", "Claim", "Verdict", "judge_claims"]

# What is judged by, best first. Results are never mixed.
_SOURCES = tuple((p, data) for data in (None, DIGITS) for p in ("paper", "quick"))

_BEYOND_CHANCE = (
    "Holds if better than each rival beyond chance, does not hold if worse than one "
    "beyond chance, not decidable otherwise. "
)
_ERRORS = _BEYOND_CHANCE + (
    "Chance: with three seeds or more the corrected t-test over seeds (p at most 0.05, "
    "Holm over the rivals); with fewer, 10 per cent of the rival's error."
)
_SPLITS = _BEYOND_CHANCE + (
    "Chance: the corrected resampled t-test over folds and seeds, on means over the "
    "rates (p at most 0.05, Holm over the rivals)."
)
_DATASETS = _BEYOND_CHANCE + (
    "Chance: Wilcoxon's signed-rank test over data sets (p at most 0.05, Holm over the "
    "rivals)."
)
_ALMOST_ALL = (
    "A case is a data set and one of k-nn, mice, mean and gmm; a tie is half a win. "
    "Holds if paper wins in at least 75 per cent of the cases and is better than the "
    "mean of the imputations by Wilcoxon's test over data sets (p at most 0.05). Does "
    "not hold if it wins in at most half of the cases, or is worse by that test. Not "
    "decidable between: with so few data sets, some cases either way are chance."
)
_LEARNED = (
    "The density that paper learns against that of EM, which is kept (em-frozen), with "
    "the same network. Holds if paper is better beyond chance, does not hold if it is "
    "worse beyond chance. Chance: Wilcoxon's signed-rank test over {} (p at most 0.05, "
    "Holm over this and the same for em-joint, which starts from EM and is told "
    "beside)."
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "lower-error-inside",
        "Our method has lower error than imputation methods inside the mask.",
        "Section 5, autoencoder; table 1",
        "Rivals are k-nn, mean and dropout, on the squared error inside. " + _ERRORS,
        "table-1",
        images.lower_error("mse_inside"),
    ),
    Claim(
        "lower-error-outside",
        "Our method has lower error than imputation methods outside the mask.",
        "Section 5, autoencoder; table 1",
        "Rivals are k-nn, mean and dropout, on the squared error outside. " + _ERRORS,
        "table-1",
        images.lower_error("mse_outside"),
    ),
    Claim(
        "sharper-images",
        "Our method gives much sharper images than the competitive methods.",
        "Section 5, autoencoder; figure 2 and supplement, section 3",
        "Sharpness is the gradient energy of an image (squared differences of "
        "neighbouring pixels), divided by that of the original. Rivals are k-nn, mean, "
        "dropout and CE. " + _BEYOND_CHANCE + "Chance: Wilcoxon's signed-rank test "
        "over the images of figure 2 (p at most 0.05, Holm over the rivals). Noise is "
        "sharp too: errors are told beside, and sharpness without a lower error is no "
        "virtue.",
        "figure-2",
        images.judge_sharpness,
    ),
    Claim(
        "small-patches-alike",
        "If the removed patch is smaller, all methods perform very well and can't be "
        "visibly distinguished.",
        "Section 5, autoencoder, footnote on the size of the patch",
        "Holds if, with the smallest patch, the worst error of k-nn, mean, dropout, "
        "paper and CE is at most 25 per cent above the best. Does not hold if it is "
        "not, and the two lie at least half as far apart as with the paper's own "
        "patch. Not decidable between: small errors may differ by a factor and look "
        "the same.",
        "table-1",
        images.judge_patches,
    ),
    Claim(
        "relu-worse-than-sigmoid",
        "With ReLU in the remaining layers (except the last one) the results are less "
        "plausible than with sigmoids.",
        "Section 5, autoencoder, footnote on the activations",
        "The rival is the same network with ReLU in all hidden layers (paper-relu), on "
        "the squared error in total. " + _ERRORS,
        "table-1",
        images.lower_error("mse", ["paper-relu"]),
    ),
    Claim(
        "level-with-ce-on-images",
        "Our method overcomes CE on the whole area and outside the mask, and CE is "
        "only slightly better inside, though it requires complete data in training.",
        "Section 5, autoencoder; table 1",
        "Holds if the errors in total and outside are at most those of CE, and that "
        "inside at most 15 per cent above (the paper calls 14 per cent slightly). Does "
        "not hold if one is above that by another 10 per cent, not decidable between.",
        "table-1",
        images.judge_level,
    ),
    Claim(
        "mice-impossible-on-mnist",
        "Due to the high dimensionality of MNIST, mice is not able to construct "
        "imputations.",
        "Section 5, multilayer perceptron, footnote on mice and EM",
        "Scikit-learn's IterativeImputer with draws, five rounds, one table, one core. "
        "A regression on all other pixels is timed on more and more images, and "
        "reckoned up to all of them, by a line and in proportion. Does not hold if "
        "both give at most 24 hours, holds if both give more, not decidable between or "
        "with stand-ins. The paper speaks of the packages of 2018.",
        "claim-mnist",
        figures.judge_mice,
    ),
    Claim(
        "em-impossible-on-mnist",
        "EM is not able to fit a mixture to MNIST because of singular covariances.",
        "Section 5, multilayer perceptron, footnote on mice and EM",
        "Our EM on images with patches, five components, with diagonal and with factor "
        "covariances, with nothing added to variances and with 1e-6, as by default. "
        "Does not hold if both give a finite likelihood with nothing added, holds if "
        "neither does even with 1e-6. Not decidable between, where singular "
        "covariances are in the way and a floor is the way around, or with stand-ins.",
        "claim-mnist",
        figures.judge_em,
    ),
    Claim(
        "better-than-imputation-on-esr",
        "Our model has an advantage over classical imputation methods, which give "
        "reasonable results only for a low number of missing values.",
        "Section 5, multilayer perceptron; table 2",
        "Rivals are k-nn, mice, mean and gmm, with 75 per cent missing or more. "
        + _SPLITS,
        "table-2",
        accuracy.better_at_high_rates(*accuracy.IMPUTATIONS),
    ),
    Claim(
        "better-than-dropout-on-esr",
        "Our model is slightly better than dropout, which is more robust to the number "
        "of absent attributes than imputations.",
        "Section 5, multilayer perceptron; table 2",
        "The rival is dropout, with 75 per cent missing or more. " + _SPLITS,
        "table-2",
        accuracy.better_at_high_rates("dropout"),
    ),
    Claim(
        "level-with-ce-on-esr",
        "Our method gives comparable scores to CE, even though CE had access to "
        "complete training data.",
        "Section 5, multilayer perceptron; table 2",
        "On means over all rates. Holds if the accuracy is above that of CE minus 0.02 "
        "(the paper's own is up to 0.011 below), does not hold if it is below that, by "
        "the corrected resampled t-test over folds and seeds (p at most 0.05). Not "
        "decidable otherwise.",
        "table-2",
        accuracy.judge_level,
    ),
    Claim(
        "better-than-imputation-on-table-4",
        "Our model outperformed imputation techniques in almost all cases.",
        "Section 5, radial basis function network; table 4",
        _ALMOST_ALL,
        "table-4",
        accuracy.better_than_imputation("table-4"),
    ),
    Claim(
        "better-than-imputation-on-table-6",
        "Our method outperformed imputation techniques in almost all cases, with 50 "
        "per cent of values removed.",
        "Supplement, section 4; table 6",
        _ALMOST_ALL,
        "table-6",
        accuracy.better_than_imputation("table-6"),
    ),
    Claim(
        "better-than-kernels-on-table-4",
        "Our model obtained more accurate results than modified kernel methods, which "
        "directly work on incomplete data.",
        "Section 5, radial basis function network; table 4",
        "Rivals are karma and geom. " + _DATASETS,
        "table-4",
        accuracy.better_over_datasets("table-4", "karma", "geom"),
    ),
    Claim(
        "better-than-karma-on-table-6",
        "Our method was slightly better than the karma algorithm.",
        "Supplement, section 4; table 6",
        "The rival is karma. " + _DATASETS,
        "table-6",
        accuracy.better_over_datasets("table-6", "karma"),
    ),
    Claim(
        "joint-density-beats-em-on-the-toy",
        "Learning missing data density by the network helped to perform better "
        "classification than estimating GMM directly by EM.",
        "Supplement, section 6; its last figure",
        _LEARNED.format("seeds, each with other points"),
        "figure-density",
        accuracy.joint_beats_em("figure-density", by_seed=True),
    ),
    Claim(
        "joint-density-beats-em-on-table-4",
        "Learning the density by the network is better than estimating it by EM (said "
        "of the toy, and looked at on the sets of table 4).",
        "Supplement, section 6; section 3, network architecture",
        _LEARNED.format("data sets"),
        "table-4",
        accuracy.joint_beats_em("table-4"),
    ),
    Claim(
        "joint-density-beats-em-on-table-6",
        "Learning the density by the network is better than estimating it by EM (said "
        "of the toy, and looked at on the sets of table 6).",
        "Supplement, section 6; section 3, network architecture",
        _LEARNED.format("data sets"),
        "table-6",
        accuracy.joint_beats_em("table-6"),
    ),
    Claim(
        "needs-incomplete-rows",
        "If we want to use missing data in the testing stage, we need to feed the "
        "network with incomplete data in training, to fit an accurate density.",
        "Section 3, network architecture",
        "The same method is trained on incomplete rows (paper) and on the same rows "
        "before values were removed (paper-complete), and tested on incomplete rows. "
        + _DATASETS,
        "claim-rows",
        accuracy.better_over_datasets("claim-rows", "paper-complete"),
    ),
    Claim(
        "cost-about-2k",
        "Generalised activations can be about 2k times slower than working on complete "
        "data, with k Gaussians.",
        "Supplement, section 5",
        "Times of the layer in those of an ordinary one, averaged over shares of "
        "missing values above 0, divided by 2k; the geometric mean over k. Holds if it "
        "is from 1/2 to 2, forward and with gradients; does not hold if both are above "
        "or both below, not decidable otherwise.",
        "figure-cost",
        figures.judge_cost,
    ),
    Claim(
        "no-loss-of-information",
        "Generalised ReLUs lose no information: if all of them respond alike to two "
        "probability measures, these are equal.",
        "Section 4, theorem 4.1",
        "Holds if responses to one measure written in two ways agree to 1e-9, those to "
        "each pair of different measures differ by 1e-3 somewhere, and the density and "
        "the characteristic function of w'x, made of responses as in the proof, are "
        "right to 1e-4; does not hold otherwise. Numbers can refute a theorem, but not "
        "prove it.",
        "claim-information",
        figures.judge_information,
    ),
)


def judge_claims(results: str | PathLike[str]) -> tuple[Verdict, ...]:
    """Judge the paper's statements by results.

    Each is judged by results of one protocol: ``paper`` if they are there, else
    ``quick``; by those on stand-ins only if there are none on the paper's data.

    Parameters
    ----------
    results : str or PathLike
        A folder that ``run_experiment`` wrote to.

    Returns
    -------
    tuple of Verdict
        One for each of ``CLAIMS``. What there are no results of is not decidable, and
        the verdict says what to run.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.experiments import run_experiment
    >>> from reproduction.experiments.claims import judge_claims
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_experiment("claim-information", out=folder)
    ...     verdicts = judge_claims(folder)
    >>> {verdict.claim.name: verdict.outcome for verdict in verdicts[-2:]}
    {'cost-about-2k': 'not decidable', 'no-loss-of-information': 'holds'}
    """
    folder = Path(results)
    every = tuple(read_results(folder))
    evidence = [Evidence(folder, *source, every) for source in _SOURCES]
    return tuple(map(partial(_judge, evidence), CLAIMS))


def _judge(sources: list[Evidence], claim: Claim) -> Verdict:
    """Judge a claim by the first results that are enough for it."""
    lacking: list[tuple[LackingError, Evidence]] = []
    for evidence in sources:
        try:
            found = claim.judge(evidence)
        except LackingError as error:
            lacking.append((error, evidence))
            continue
        why = f"{found.why} {evidence.tell(claim.experiment)}"
        return Verdict(claim, found.outcome, why, found.figures, evidence.label)
    # Where results have been begun, they want to be finished.
    begun = [each for each in lacking if each[0].partial]
    gap, place = (begun or lacking)[0]
    data = "" if place.data is None else f" --data {place.data}"
    why = (
        f"There are {gap} yet. Run: lacunet reproduce {claim.experiment} "
        f"--protocol {place.protocol}{data}"
    )
    return Verdict(claim, OPEN, why)
