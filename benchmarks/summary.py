"""The comparisons as JSON and as printed tables."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cells import Cell
from benchmarks.rivals import METHODS, OURS, PAPER
from benchmarks.scores import (
    METRICS,
    Duel,
    Scores,
    Standing,
    comparable,
    fight,
    rank_methods,
    score_sets,
)
from benchmarks.table import format_table

MOST_LOG_LOSS, LEAST_ACCURACY = 0.372, 0.824
RIVALS_ON_ESR = (PAPER, "mlp")


@dataclass(frozen=True)
class Goal:
    """Something to reach."""

    goal: str
    value: str
    reached: bool


@dataclass(frozen=True)
class Summary:
    """Summary of the cells of one file."""

    sets: list[str]
    scores: Scores
    standings: list[Standing]
    duels: list[Duel]
    goals: list[Goal]
    incomplete: list[str]  # methods that lack cells and are left out
    recipes: dict[str, list[str]]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def summarise_uci(
    cells: Iterable[Cell],
    n_folds: int,
    pairs: Sequence[tuple[str, str]],
    wanted: Sequence[str],
) -> Summary:
    """Summarise the small tables; goals only with all the ``wanted`` sets."""
    cells = list(cells)
    sets, scores = comparable(every := score_sets(cells, n_folds))
    standings = rank_methods(scores, pairs)
    ready = OURS in scores and set(sets) == set(wanted)
    return Summary(
        sets,
        scores,
        standings,
        fight(scores, OURS, pairs),
        uci_goals(standings) if ready else [],
        sorted(set(every) - set(scores)),
        recipes_of(cells),
    )


def summarise_esr(cells: Iterable[Cell]) -> Summary:
    """Summarise the fractions removed from one large table, each by itself."""
    cells = list(cells)
    scores = score_sets(cells, 1)
    sets = sorted({dataset for of_method in scores.values() for dataset in of_method})
    return Summary(sets, scores, [], [], esr_goals(scores), [], recipes_of(cells))


def recipes_of(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """Return the recipes of each method, and warn where they are several."""
    recipes: dict[str, set[str]] = {}
    sources: dict[str, set[str]] = {}
    for cell in cells:
        recipes.setdefault(cell.method, set()).add(cell.recipe)
        sources.setdefault(cell.method, set()).add(cell.source or "")
    for method, known in recipes.items():
        if len(known) > 1 or len(sources[method]) > 1:
            msg = (
                f"The cells of {method} were measured with {len(known)} recipes and "
                f"{len(sources[method])} states of the code. --again measures all."
            )
            warnings.warn(msg, UserWarning, stacklevel=3)
    return {method: sorted(known) for method, known in sorted(recipes.items())}


def uci_goals(standings: Sequence[Standing]) -> list[Goal]:
    ours = next(s for s in standings if s.method == OURS)
    rivals = [s for s in standings if s.method != OURS]
    loss, accuracy = ours.log_loss, ours.accuracy
    goals = [
        Goal(f"log-loss <= {MOST_LOG_LOSS}", f"{loss:.4f}", loss <= MOST_LOG_LOSS),
        Goal(
            f"accuracy >= {LEAST_ACCURACY}",
            f"{accuracy:.4f}",
            accuracy >= LEAST_ACCURACY,
        ),
    ]
    if rivals:
        lowest = min(s.log_loss for s in rivals)
        highest = max(s.accuracy for s in rivals)
        goals += [
            Goal(
                f"log-loss < {lowest:.4f}, the best rival's",
                f"{loss:.4f}",
                loss < lowest,
            ),
            Goal(
                f"accuracy > {highest:.4f}, the best rival's",
                f"{accuracy:.4f}",
                accuracy > highest,
            ),
            *(rank_goal(ours, rivals, metric) for metric in METRICS),
        ]
    return goals


def rank_goal(ours: Standing, rivals: Sequence[Standing], metric: str) -> Goal:
    name = f"{metric}_rank"
    mine, best = getattr(ours, name), min(getattr(s, name) for s in rivals)
    label = metric.replace("_", "-")
    return Goal(
        f"mean rank by {label} < {best:.2f}, the best rival's",
        f"{mine:.2f}",
        mine < best,
    )


def esr_goals(scores: Scores) -> list[Goal]:
    """Require higher accuracy and lower log-loss than the rivals' at each fraction."""
    goals = []
    for dataset, ours in sorted(scores.get(OURS, {}).items()):
        for rival in RIVALS_ON_ESR:
            if (theirs := scores.get(rival, {}).get(dataset)) is None:
                continue
            value = f"{ours.accuracy:.3f} / {ours.log_loss:.3f}"
            ahead = ours.accuracy > theirs.accuracy and ours.log_loss < theirs.log_loss
            goals.append(
                Goal(
                    f"{dataset}: ahead of {rival}, "
                    f"{theirs.accuracy:.3f} / {theirs.log_loss:.3f}",
                    value,
                    ahead,
                )
            )
    return goals


def title(method: str) -> str:
    return METHODS[method].title if method in METHODS else method


def print_uci(summary: Summary) -> None:
    """Print means, sets, duels and goals."""
    print(f"\nMeans over {len(summary.sets)} sets, CPU seconds a fold:\n")
    print(standings_table(summary.standings))
    print("\nLog-loss of each set, the lowest with a star:\n")
    print(sets_table(summary))
    if summary.duels:
        print("\nlacunet against each, duplicate sets counted once:\n")
        print(duels_table(summary.duels))
    print_end(summary)


def print_esr(summary: Summary) -> None:
    print("\nAccuracy / log-loss / CPU seconds, one split each:\n")
    methods = list(summary.scores)
    body = [[dataset, *esr_cells(summary, dataset)] for dataset in summary.sets]
    print(format_table(["removed, %", *methods], body))
    print_end(summary)


def esr_cells(summary: Summary, dataset: str) -> list[str]:
    found = [of_method.get(dataset) for of_method in summary.scores.values()]
    return [
        "-" if s is None else f"{s.accuracy:.3f} / {s.log_loss:.3f} / {s.seconds:.0f}"
        for s in found
    ]


def print_end(summary: Summary) -> None:
    if summary.goals:
        print(f"\n{goals_table(summary.goals)}")
    if summary.incomplete:
        print(f"\nLeft out, as cells are lacking: {', '.join(summary.incomplete)}")


def standings_table(standings: Sequence[Standing]) -> str:
    header = ("method", "log-loss", "+-", "accuracy", "+-", "rank", "rank (acc.)", "s")
    body = [
        (
            title(s.method),
            f"{s.log_loss:.4f}",
            plain(s.log_loss_error),
            f"{s.accuracy:.4f}",
            plain(s.accuracy_error),
            f"{s.log_loss_rank:.2f}",
            f"{s.accuracy_rank:.2f}",
            f"{s.seconds:.2f}",
        )
        for s in standings
    ]
    return format_table(header, body)


def plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def sets_table(summary: Summary) -> str:
    methods = [standing.method for standing in summary.standings]
    body = []
    for dataset in summary.sets:
        losses = [summary.scores[method][dataset].log_loss for method in methods]
        best = min(losses, default=0.0)
        body.append([dataset, *(f"{v:.3f}{'*' if v == best else ' '}" for v in losses)])
    return format_table(["set", *methods], body)


def duels_table(duels: Sequence[Duel]) -> str:
    header = ("rival", "score", "difference", "+-", "won", "lost", "tied", "p")
    body = [
        (
            title(duel.rival),
            duel.metric.replace("_", "-"),
            f"{duel.difference:+.4f}",
            plain(duel.difference_error),
            str(duel.wins),
            str(duel.losses),
            str(duel.ties),
            f"{duel.p_value:.4f}",
        )
        for duel in duels
    ]
    return format_table(header, body)


def goals_table(goals: Sequence[Goal]) -> str:
    body = [(g.goal, g.value, "ok" if g.reached else "MISSED") for g in goals]
    return format_table(("goal", "lacunet", ""), body)
