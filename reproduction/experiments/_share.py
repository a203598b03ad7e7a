"""What each of several experiments has of what was asked for."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from reproduction.experiments._jobs import Choice, check_choice_of
from reproduction.experiments._record import Experiment


def share_out(
    experiments: Sequence[Experiment], choice: Choice
) -> list[tuple[Experiment, Choice]]:
    """Give each experiment those of the methods and data sets that it has.

    Parameters
    ----------
    experiments : sequence of Experiment
    choice : Choice
        Names that no experiment knows are refused.

    Returns
    -------
    list of (Experiment, Choice)
        Without the experiments that have nothing of it; at least one.
    """
    able = [each for each in experiments if choice.protocol in each.protocols]
    for each in able or experiments[:1]:
        check_choice_of(each, choice)
    whole = replace(choice, methods=None, datasets=None)
    columns = [whole.columns(each) for each in able]
    rows = [[row.dataset for row in whole.settings(each)] for each in able]
    methods = _check_names(choice.methods, columns, "methods")
    datasets = _check_names(choice.datasets, rows, "datasets")
    shares = []
    for each, known, sets in zip(able, columns, rows, strict=True):
        share = replace(
            choice, methods=_common(methods, known), datasets=_common(datasets, sets)
        )
        if share.methods != [] and share.datasets != []:
            shares.append((each, share))
    if not shares:
        msg = (
            f"Got methods={methods} with datasets={datasets}, but expected some that "
            f"one of {', '.join(each.name for each in experiments)} has together."
        )
        raise ValueError(msg)
    return shares


def _common(wanted: list[str] | None, known: Sequence[str]) -> list[str] | None:
    """Return what is wanted and known; None still stands for all."""
    return None if wanted is None else [key for key in wanted if key in known]


def _check_names(
    wanted: Sequence[str] | None, known: Sequence[Sequence[str]], name: str
) -> list[str] | None:
    """Refuse names that are known nowhere."""
    if wanted is None:
        return None
    anywhere = list(dict.fromkeys(key for keys in known for key in keys))
    chosen = [wanted] if isinstance(wanted, str) else list(wanted)
    for key in chosen:
        if key not in anywhere:
            near = difflib.get_close_matches(str(key), anywhere)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            msg = (
                f"Got {key!r} in {name}, but expected some of "
                f"{', '.join(anywhere)}.{hint}"
            )
            raise ValueError(msg)
    return chosen
