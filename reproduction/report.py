"""The report of the paper's results, as a page or as Markdown.

Here are its data: tables with the paper's own numbers beside ours, ranks, tests and
drawings. The sentences are in ``templates/results.html`` and ``templates/results.md``.
"""

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from lacunet.evaluation import corrected_t
from lacunet.exceptions import LacunetError
from lacunet.report import (
    ACCENT,
    FIRST_CLASS,
    INK,
    LINE,
    MISSING,
    MUTED,
    SECOND,
    SECOND_CLASS,
    THIRD,
    WIDTH,
    drawing,
    to_svg,
    write_page,
)
from reproduction.claims import NO_RATE, evaluate_claims
from reproduction.figures import N_FIRST
from reproduction.methods import METHODS
from reproduction.protocols import PATCH, PROTOCOLS
from reproduction.results import read_results
from reproduction.runner import EXPERIMENTS, load_experiment
from reproduction.statistics import (
    ALPHA,
    DECIMALS,
    NEAR_IDENTICAL,
    compare_methods,
    find_cliques,
    friedman_p,
    mean_ranks,
    mean_scores,
    smallest_p,
)
from reproduction.tables import DENSITIES, MARGINS, RIVALS, Experiment

Row = tuple[str, float]  # a data set, and the fraction of its values that is removed
Cell = dict[str, Any]  # of a table: text, error, below, tone, strong

TABLES = ("table-1", "table-2", "table-4", "table-6")
FIGURES = ("figure-2", "figure-gamma", "figure-density", "figure-cost")
# Data sets of the same kind, under the same protocol: more of them allow more.
JOINED = ("table-4", "table-6")

OURS, PAPER, AUTHORS = "lacunet", "paper", "authors"
TITLES = {
    PAPER: "paper (as published)",
    "paper-relu": "paper, ReLU throughout",
    "lacunet-wide": "lacunet, wider network",
    "lacunet-short": "lacunet, few epochs",
    "em-frozen": "EM frozen",
}
IMPUTATIONS = ("knn", "mice", "mean", "gmm", "dropout")
# As in the paper, methods that are given complete data are out of competition.
GIVEN_COMPLETE = ("complete", *(k for k, m in METHODS.items() if m.needs_complete))
GROUPS = (
    "The paper's rivals",
    "The paper's method and variants",
    "Beyond the paper",
    "Today's rivals",
    "Others",
    "Given complete data, out of competition",
)
METRICS = {"mse": "total", "mse_inside": "inside", "mse_outside": "outside"}
TAGS = {"paper": "", "stand-ins": "stand-in data", "other": "other data"}
# A row that lacks so many of its methods is unfinished, and is left out before any
# method is.
MOST_GAPS = 0.25
FEWEST_FOR_ALL_PAIRS = 11  # data sets
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
BETTER, WORSE = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"


def write_report(
    results: str | PathLike[str],
    path: str | PathLike[str],
    *,
    format: Literal["html", "md"] = "html",
    force: bool = False,
) -> Path:
    """Write a report of the paper's experiments.

    As HTML it is one file that needs no other and no network: each table and figure of
    the paper with ours beside it, ranks and tests, the paper's claims with what the
    results say of them, protocols and versions. As Markdown it is the tables alone. The
    same results give the same file, and it is written whole or not at all.

    Parameters
    ----------
    results : str or PathLike
        Folder with the results of experiments.
    path : str or PathLike
        The file to write; its folder is made.
    format : {"html", "md"}, default="html"
        What is written.
    force : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    Path
        That of the file.

    Examples
    --------
    >>> import json, tempfile
    >>> cell = {
    ...     "experiment": "table-4", "dataset": "pima", "rate": None, "method": "paper",
    ...     "fold": 0, "seed": 0, "protocol": "paper", "metric": "accuracy",
    ...     "value": 0.75, "params": {}, "seconds": 2.5, "versions": {}, "commit": None,
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table-4.jsonl").write_text(json.dumps(cell) + "\\n")
    ...     path = write_report(folder, Path(folder, "tables.md"), format="md")
    ...     "| *paper (as published)* | 0.750 / 0.747" in path.read_text("utf-8")
    True
    """
    if format not in ("html", "md"):
        msg = f"Got format={format!r}, but expected 'html' or 'md'."
        raise ValueError(msg)
    folder = Path(results)
    return write_page(
        path,
        f"results.{format}",
        lambda: make_context(folder, drawings=format == "html"),
        force=force,
        package="reproduction",
    )


def make_context(folder: Path, *, drawings: bool = True) -> dict[str, Any]:
    """Return what the templates show of a folder of results."""
    cells, contents = read_folder(folder)
    experiments = {name: load_experiment(name) for name in EXPERIMENTS}
    parts = {name: find_parts(cells, each) for name, each in experiments.items()}
    verdicts = evaluate_claims(cells, contents)
    tables = [
        {
            "title": name_experiment(name),
            "experiment": experiments[name],
            "parts": [show_table(part, parts[name], drawings) for part in parts[name]],
        }
        for name in TABLES
    ]
    joined = [
        {"title": one.title.lower(), "standing": show_standing(found, drawings)}
        for one in parts[JOINED[0]]
        for other in parts[JOINED[1]]
        if one.protocol == other.protocol != AUTHORS
        and one.kind == other.kind == "paper"
        if (found := find_standing([one, other])) is not None
    ]
    figures = [
        {
            "title": name_experiment(name),
            "experiment": experiments[name],
            "parts": show_figure(
                experiments[name], contents.get(name, {}), parts[name]
            ),
        }
        for name in FIGURES
        if drawings
    ]
    return {
        "title": "Processing of missing data by neural networks, reproduced",
        "sections": [each["title"] for each in (*tables, *figures)],
        "tables": tables,
        "joined": joined,
        "figures": figures,
        "verdicts": verdicts,
        "outcomes": [verdict.outcome for verdict in verdicts],
        "origins": show_origins(cells, parts),
        "md": escape_markdown,
    }


def read_folder(folder: Path) -> tuple[pd.DataFrame, dict[str, dict[str, Any]]]:
    """Return the cells of a folder, and the data of figures by experiment and label."""
    advice = "Run an experiment first: python -m reproduction run table-4"
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing there"
        msg = f"Got results={str(folder)!r}, {what}, but expected a folder. {advice}"
        raise LacunetError(msg)
    contents: dict[str, dict[str, Any]] = {}
    for name in EXPERIMENTS:
        source = folder / f"{name}.json"
        try:
            if source.exists():
                contents[name] = dict(json.loads(source.read_text("utf-8")))
            if (source := folder / f"{name}.npz").exists():
                with np.load(source, allow_pickle=False) as arrays:
                    for key, array in arrays.items():
                        label, _, last = key.partition("/")
                        of_label = contents.setdefault(name, {}).setdefault(label, {})
                        of_label[last] = array
        except (ValueError, OSError) as error:
            msg = (
                f"Got {source} that can't be read, but expected the data of a figure. "
                f"Delete it and run python -m reproduction run {name} again."
            )
            raise LacunetError(msg) from error
    cells = read_results(folder).fillna({"rate": NO_RATE})
    if cells.empty and not contents:
        msg = (
            f"Got results={str(folder)!r} without any result, but expected the files "
            f"of an experiment. {advice}"
        )
        raise LacunetError(msg)
    return cells, contents


# --- results taken apart: one experiment, one protocol, one kind of data at a time


@dataclass(frozen=True, eq=False)
class Part:
    """The cells of an experiment that may be in one table.

    ``kind`` is "paper" for the paper's own data sets, "stand-ins" for those that come
    with scikit-learn, and "other" for those that the experiment does not know.
    """

    experiment: Experiment
    protocol: str
    kind: str
    cells: pd.DataFrame

    @property
    def title(self) -> str:
        return name_protocol(self.protocol)

    @property
    def metric(self) -> str:
        """The metric that methods are ranked by."""
        return self.experiment.metrics[0]

    @property
    def rows(self) -> list[Row]:
        """Data sets and rates that have cells, in the order of the experiment."""
        found = dict.fromkeys(
            zip(self.cells["dataset"], self.cells["rate"], strict=True)
        )
        known = [row for row in known_rows(self.experiment) if row in found]
        return known + sorted(found.keys() - set(known))

    @property
    def main_rows(self) -> list[Row]:
        """The rows that methods are ranked on.

        With several metrics, those that the paper reports on, if there are any: not all
        methods are run on the others.
        """
        main = [row for row in self.rows if self.reported(self.metric, row)]
        return main if main and len(self.experiment.metrics) > 1 else self.rows

    @property
    def methods(self) -> list[str]:
        """Methods that have cells, in the order of the experiment."""
        found = set(self.cells["method"])
        known = [key for key in self.experiment.methods if key in found]
        return known + sorted(found - set(known))

    @property
    def competing(self) -> pd.DataFrame:
        """The cells that methods are ranked by: those of incomplete data, if any."""
        main = self.on(self.main_rows).cells
        main = main[
            (main["metric"] == self.metric) & ~main["method"].isin(GIVEN_COMPLETE)
        ]
        incomplete = main[main["rate"] != 0]
        return main if incomplete.empty else incomplete

    def on(self, rows: Sequence[Row]) -> "Part":
        """Return the part of some rows alone."""
        pairs = zip(self.cells["dataset"], self.cells["rate"], strict=True)
        return replace(self, cells=self.cells[[pair in rows for pair in pairs]])

    def reported(self, metric: str, row: Row) -> Mapping[str, float]:
        """Return what the paper reports on a row, by method."""
        dataset, rate = row
        known = self.experiment.reported.get(metric, {})
        return known.get((dataset, None if rate == NO_RATE else rate), {})

    def is_planned(self, method: str, row: Row) -> bool:
        """Return whether a row of the experiment has such a method."""
        for setting in (*self.experiment.settings, *self.experiment.stand_ins):
            if row_of(setting) == row:
                return not setting.methods or method in setting.methods
        return True

    def count_missing(self) -> tuple[int, int]:
        """Return how many cells of a whole run are not there, and how many it has."""
        if self.kind == "other" or self.protocol not in PROTOCOLS:
            return 0, len(self.cells)
        protocol, experiment = PROTOCOLS[self.protocol], self.experiment
        settings = experiment.settings if self.kind == "paper" else experiment.stand_ins
        methods = [k for k in experiment.methods if k in (protocol.methods or [k])]
        n_fits = sum(
            len([key for key in methods if key in (setting.methods or [key])])
            for setting in settings
            if self.protocol in (setting.protocols or [self.protocol])
        )
        n_folds = protocol.n_folds if experiment.cross_validated else 1
        n_seeds = self.cells["seed"].nunique()
        planned = n_fits * n_folds * n_seeds * len(experiment.metrics)
        return max(planned - len(self.cells), 0), planned


def find_parts(cells: pd.DataFrame, experiment: Experiment) -> list[Part]:
    """Return the parts of an experiment, the paper's data and protocol first."""
    own = cells[cells["experiment"] == experiment.name]
    kinds = {setting.dataset: "stand-ins" for setting in experiment.stand_ins}
    kinds |= {setting.dataset: "paper" for setting in experiment.settings}
    kind = own["dataset"].map(lambda name: kinds.get(name, "other"))
    found = [
        Part(experiment, protocol, which, some)
        for (protocol, which), some in own.groupby([own["protocol"], kind])
    ]
    return sorted(found, key=lambda part: _order(part.protocol, part.kind))


def _order(protocol: str, kind: str) -> tuple[int, int, str]:
    known = [*PROTOCOLS, protocol]
    return list(TAGS).index(kind), known.index(protocol), protocol


def row_of(setting: Any) -> Row:
    return setting.dataset, NO_RATE if setting.rate is None else setting.rate


def known_rows(experiment: Experiment) -> list[Row]:
    return list(
        dict.fromkeys(map(row_of, (*experiment.settings, *experiment.stand_ins)))
    )


def name_experiment(name: str) -> str:
    return name.replace("-", " ").capitalize()


def name_protocol(protocol: str) -> str:
    return "Authors' protocol" if protocol == AUTHORS else f"Protocol {protocol}"


def name_method(method: str) -> str:
    known = METHODS[method].title if method in METHODS else method
    return TITLES.get(method, known)


def name_set(experiment: Experiment, dataset: str) -> str:
    """Return a data set as tables call it; of images with the side of the patch."""
    name, _, side = dataset.partition("-")
    known = side or PATCH.get(name)
    if experiment.body != "autoencoder" or not known:
        return dataset
    return f"{name}, patch {known} × {known}"


def name_row(experiment: Experiment, row: Row) -> str:
    """Return a data set, with its rate if there are several or it is not known."""
    dataset, rate = row
    name = name_set(experiment, dataset)
    known = [each for each in known_rows(experiment) if each[0] == dataset]
    return name if rate == NO_RATE or known == [row] else f"{name}, {name_rate(rate)}"


def name_rate(rate: float) -> str:
    return f"{rate:.0%} removed" if rate else "complete"


def group_of(method: str) -> str:
    """Return which of ``GROUPS`` a method belongs to."""
    rivals, variants, beyond, today, others, complete = GROUPS
    if method in GIVEN_COMPLETE:
        return complete
    if method in (PAPER, *DENSITIES) or method.startswith(f"{PAPER}-"):
        return variants
    if method in (*MARGINS, *IMPUTATIONS):
        return rivals
    if method in RIVALS:
        return today
    return beyond if method.startswith(OURS) else others


def show_value(value: float, metric: str) -> str:
    """Return a score with as many digits as the paper gives."""
    return f"{value:.{5 if metric.startswith('mse') else 3}f}".replace("-", MINUS)


def show_difference(difference: float, metric: str) -> str:
    shown = show_value(abs(difference), metric)
    return f"{MINUS if difference < 0 else '+'}{shown}" if float(shown) else "±0"


def show_p(p: float) -> str:
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def escape_markdown(text: object) -> Markup:
    """Return a text that Markdown shows as it is, in one line."""
    plain = str(escape(text)).replace("&#39;", "'").replace("&#34;", '"')
    marked = re.sub(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))", r"\\\1", plain)
    return Markup(" ".join(marked.split()))


# --- score tables


def show_table(part: Part, parts: Sequence[Part], drawings: bool) -> dict[str, Any]:
    """Return what a section shows of a part: scores, ranks and tests."""
    shown: dict[str, Any] = {"title": part.title, "tag": TAGS[part.kind], "part": part}
    if part.protocol == AUTHORS:
        rows = part.rows
        beside = [
            each.on(rows)
            for each in parts
            if (each.protocol, each.kind) == (PAPER, part.kind)
        ]
        return shown | {"authors": authors_table(part, beside)}
    standing = find_standing([part])
    ranks = {}
    if standing is not None and len(standing.scores) > 1:
        ranks = dict(standing.ranks)
    others = [row for row in part.rows if row not in part.main_rows]
    tables = [score_table(part.on(part.main_rows), ranks)]
    if others:
        tables.append(score_table(part.on(others), {}))
    own = (
        part.experiment.settings if part.kind == "paper" else part.experiment.stand_ins
    )
    within = {key: within_table(part, key) for key in (OURS, PAPER) if drawings}
    return shown | {
        "unrun": [
            name_row(part.experiment, row)
            for row in map(row_of, own)
            if part.kind != "other" and row not in part.rows
        ],
        "tables": tables,
        "standing": standing and show_standing(standing, drawings),
        "within": {name_method(key): each for key, each in within.items() if each},
        "nearest": nearest_patches(part) if others else [],
        "distance": distance_to_reported(part),
    }


def score_table(part: Part, ranks: Mapping[str, float]) -> dict[str, Any]:
    """Return the table of a part: a row a method, the paper's numbers below ours."""
    reported = {
        method
        for metric in part.experiment.metrics
        for row in part.rows
        for method in part.reported(metric, row)
    }
    shown = {*part.methods, *reported}
    methods = [key for key in part.experiment.methods if key in shown]
    methods += [key for key in part.methods if key not in methods]
    places, cells = score_cells(part, methods)
    best = min(ranks.values(), default=0)
    rows = {}
    for method in methods:
        rank = ranks.get(method)
        text = DASH if rank is None else f"{rank:.2f}"
        first = [{"text": text, "strong": rank == best}] if ranks else []
        rows[method] = {
            "name": name_method(method),
            "accent": method in (OURS, PAPER),
            "cells": [*first, *cells[method]],
        }
    columns = [("", "mean rank")] if ranks else []
    columns += [*name_columns(part, places), ("", "time per fit")]
    return {
        **_table("method", columns),
        "groups": [
            (title, some)
            for title in GROUPS
            if (some := [row for key, row in rows.items() if group_of(key) == title])
        ],
        "is_error": not part.experiment.higher_is_better,
        "bold": True,
        "over": "folds" if part.experiment.cross_validated else "splits",
        "has_errors": any(c.get("error") for some in cells.values() for c in some),
        "has_gaps": any(c.get("mark") for some in cells.values() for c in some),
        "reported": bool(reported),
        "ranked": bool(ranks),
    }


def _table(corner: str, columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the head of a table, of columns with the title of their group."""
    heads = [(key, len(list(some))) for key, some in groupby(c[0] for c in columns)]
    return {
        "corner": corner,
        "columns": columns,
        "heads": heads if any(title for title, _ in heads) else [],
    }


def score_cells(
    part: Part, methods: Sequence[str]
) -> tuple[list[tuple[Row, str]], dict[str, list[Cell]]]:
    """Return rows with metrics, and for each method their cells and its time."""
    own = [
        each for each in part.experiment.metrics if each in set(part.cells["metric"])
    ]
    places = [(row, metric) for row in part.rows for metric in own]
    cells: dict[str, list[Cell]] = {method: [] for method in methods}
    scores = {
        metric: mean_scores(part.cells[part.cells["metric"] == metric]).to_dict("index")
        for metric in own
    }
    choose = max if part.experiment.higher_is_better else min
    for row, metric in places:
        found = {key: scores[metric].get((*row, key), {}) for key in methods}
        competing = {
            method: score["mean"]
            for method, score in found.items()
            if method not in GIVEN_COMPLETE and score.get("complete")
        }
        best = choose(competing.values()) if len(competing) > 1 else np.nan
        for method, score in found.items():
            cell = _score_cell(part, row, metric, method, score)
            shows_best = method in competing and cell["text"] == show_value(
                best, metric
            )
            cells[method].append(cell | {"strong": shows_best})
    fits = part.cells.dropna(subset="value").groupby("method")["seconds"].median()
    for method in methods:
        cells[method].append({"seconds": fits.get(method)})
    return places, cells


def _score_cell(
    part: Part, row: Row, metric: str, method: str, score: Mapping[str, Any]
) -> Cell:
    """Return a mean with its standard error, and the paper's number below."""
    planned = part.is_planned(method, row)
    cell: Cell = {"text": DASH if planned else ""}
    if planned and not score.get("complete"):
        cell["mark"] = "†"
    theirs = part.reported(metric, row).get(method)
    if theirs is not None:
        cell["below"] = show_value(theirs, metric)
    if not score:
        return cell
    cell["text"] = show_value(score["mean"], metric)
    if not np.isnan(score["stderr"]):
        cell["error"] = f"± {show_value(score['stderr'], metric)}"
    if theirs is not None:
        difference = show_difference(score["mean"] - theirs, metric)
        cell["below"] += f" ({difference})"
        if difference != "±0":
            is_better = (score["mean"] > theirs) == part.experiment.higher_is_better
            cell["tone"] = "better" if is_better else "worse"
    return cell


def name_columns(
    part: Part, places: Sequence[tuple[Row, str]]
) -> list[tuple[str, str]]:
    """Return titles with those of their groups: a data set has metrics or rates."""
    experiment = part.experiment
    if len(experiment.metrics) > 1:
        return [(name_row(experiment, r), METRICS.get(m, m)) for r, m in places]
    datasets = [dataset for (dataset, _), _ in places]
    return [
        (name_set(experiment, dataset), name_rate(rate))
        if datasets.count(dataset) > 1
        else ("", name_set(experiment, dataset))
        for (dataset, rate), _ in places
    ]


def authors_table(part: Part, beside: Sequence[Part]) -> dict[str, Any]:
    """Return the authors' protocol beside the paper's: a row a data set."""
    columns: list[tuple[str, str]] = []
    rows: dict[Any, list[Cell]] = {}
    means = []
    for each in (part, *beside):
        known = part.methods if each is part else [*part.methods, OURS]
        methods = [key for key in each.methods if key in known]
        places, cells = score_cells(each, methods)
        if each is part:
            names = [", ".join(filter(None, t)) for t in name_columns(part, places)]
            rows = {place: [] for place in (*places, "time")}
        scores = mean_scores(each.cells[each.cells["metric"] == each.metric])["mean"]
        for method in methods:
            columns.append((name_protocol(each.protocol).lower(), name_method(method)))
            found = dict(zip((*places, "time"), cells[method], strict=True))
            for place, row in rows.items():
                row.append({**found.get(place, {"text": DASH}), "strong": False})
            mean = scores[scores.index.get_level_values("method") == method].mean()
            if not np.isnan(mean):
                shown = show_value(mean, each.metric)
                means.append((columns[-1], shown, found["time"]["seconds"]))
    every = [cell for row in rows.values() for cell in row]
    titled = zip((*names, "time per fit"), rows.values(), strict=True)
    lines = [{"name": n, "accent": False, "cells": row} for n, row in titled]
    return {
        **_table("data set", columns),
        "groups": [("", lines)],
        "is_error": not part.experiment.higher_is_better,
        "over": "folds" if part.experiment.cross_validated else "splits",
        "has_errors": any("error" in cell for cell in every),
        "has_gaps": any("mark" in cell for cell in every),
        "reported": any("below" in cell for cell in every),
        "means": means,
        "n_rows": len(part.rows),
    }


def distance_to_reported(part: Part) -> dict[str, Any] | None:
    """Return how far the paper's method is from what the paper reports of it."""
    means = mean_scores(part.cells[part.cells["metric"] == part.metric])["mean"]
    pairs = [
        (means[(*row, PAPER)], theirs[PAPER])
        for row in part.rows
        if PAPER in (theirs := part.reported(part.metric, row))
        and (*row, PAPER) in means.index
    ]
    if part.kind != "paper" or not pairs:
        return None
    ours, theirs = np.array(pairs).T
    sign = 1 if part.experiment.higher_is_better else -1
    return {
        "n_rows": len(pairs),
        "n_reached": int((sign * (ours - theirs) >= 0).sum()),
        "mean": show_difference(float((ours - theirs).mean()), part.metric),
    }


def nearest_patches(part: Part) -> list[tuple[str, float]]:
    """Return by which factor each row differs from what the paper reports of one.

    It is the geometric mean over the methods and metrics that the paper reports; the
    nearest row comes first.
    """
    main = part.main_rows[0]
    factors = {}
    for row in part.rows:
        cells = part.on([row]).cells.groupby(["metric", "method"])["value"].mean()
        known = {
            (metric, method): theirs
            for metric in part.experiment.metrics
            for method, theirs in part.reported(metric, main).items()
        }
        ratios = np.log(cells.reindex(list(known)) / list(known.values()))
        if known and ratios.notna().all():
            name = name_row(part.experiment, row)
            factors[name] = float(np.exp(ratios.abs().mean()))
    return sorted(factors.items(), key=lambda each: each[1])


# --- ranks and tests over data sets


@dataclass(frozen=True, eq=False)
class Standing:
    """Methods on the same rows, ranked.

    ``scores`` have a column a method and no gaps. Their rows are data sets if there are
    several independent ones, so that tests over them make sense; otherwise they are the
    rows of the table, such as one data set at several rates.
    """

    scores: pd.DataFrame
    ranks: pd.Series
    independent: bool
    higher_is_better: bool
    metric: str
    left_out: list[str]

    @property
    def enough_for_all_pairs(self) -> bool:
        """Whether any of all pairs could come out different."""
        n_sets, n_methods = map(int, self.scores.shape)
        n_pairs = n_methods * (n_methods - 1) / 2
        return n_sets >= FEWEST_FOR_ALL_PAIRS and smallest_p(n_sets) * n_pairs <= ALPHA


def find_standing(parts: Sequence[Part]) -> Standing | None:
    """Rank the methods of parts of one metric; None without two methods to compare.

    What has gaps is left out: first rows that are far from finished, then methods.
    """
    cells = pd.concat([part.competing for part in parts])
    means = mean_scores(cells)
    wide = means["mean"].where(means["complete"]).unstack("method")
    full = wide
    while full.isna().any(axis=None):
        of_rows, of_methods = full.isna().mean(axis=1), full.isna().mean()
        if of_rows.max() >= MOST_GAPS and of_rows.max() > of_methods.max():
            full = full.drop(index=[of_rows.idxmax()])
        else:
            full = full.drop(columns=[of_methods.idxmax()])
    if len(full.columns) < 2 or full.empty:
        return None
    # What is behind a hyphen is a variant: other patches, or another split.
    names = full.index.unique("dataset")
    same = {name: group[0] for group in NEAR_IDENTICAL for name in group}
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(same.get(name, name.partition("-")[0]), []).append(name)
    label = {name: "+".join(some) for some in groups.values() for name in some}
    by_set = full.groupby("dataset").mean().groupby(label).mean()
    independent = len(by_set) > 1
    scores = by_set if independent else full
    left_out = [name_method(each) for each in set(cells["method"]) - set(full.columns)]
    gone = [row for row in wide.index if row not in full.index]
    left_out += [name_row(parts[0].experiment, row) for row in gone]
    higher = parts[0].experiment.higher_is_better
    ranks = mean_ranks(scores, higher_is_better=higher)
    return Standing(
        scores, ranks, independent, higher, parts[0].metric, sorted(left_out)
    )


def show_standing(standing: Standing, drawings: bool) -> dict[str, Any]:
    """Return ranks, tests and a critical-difference plot for the templates."""
    scores, ranks = standing.scores, standing.ranks
    n_sets, n_methods = scores.shape
    controls = [key for key in (OURS, PAPER) if key in ranks.index]
    shown: dict[str, Any] = {
        "n_rows": n_sets,
        "noun": "data set" if standing.independent else "row",
        "ranks": [
            {"name": name_method(key), "rank": rank, "accent": key in (OURS, PAPER)}
            for key, rank in ranks.items()
        ],
        "places": {key: int((ranks < ranks[key]).sum()) + 1 for key in controls},
        "merged": [name.split("+") for name in scores.index if "+" in name],
        "independent": standing.independent,
        "left_out": standing.left_out,
        "p": friedman_p(scores) if standing.independent and n_methods > 2 else None,
        "alpha": ALPHA,
        "controls": [],
    }
    if not standing.independent:
        return shown
    pairs = compare_methods(scores) if standing.enough_for_all_pairs else None
    shown["controls"] = [rivals_table(standing, key, pairs) for key in controls]
    shown["n_pairs"] = 0 if pairs is None else len(pairs)
    if drawings:
        groups = [] if pairs is None else find_cliques(ranks, pairs)
        shown["svg"] = draw_ranks(f"ranks-{'-'.join(scores.index)}", ranks, groups)
    return shown


def rivals_table(
    standing: Standing, control: str, pairs: pd.DataFrame | None
) -> dict[str, Any]:
    """Return a method against each rival over data sets, with tests.

    The methods that it differs from are by all ``pairs``, where those are compared.
    """
    sign = 1 if standing.higher_is_better else -1
    tests = compare_methods(standing.scores, control).set_index("second")
    rounded = standing.scores.round(DECIMALS)
    rows = []
    for rival in standing.ranks.index.drop(control):
        test = tests.loc[rival]
        gain = sign * (rounded[control] - rounded[rival]).round(DECIMALS)
        middle = sign * test["difference"]
        tone = "better" if middle > 0 else "worse" if middle < 0 else ""
        shown = show_difference(test["difference"], standing.metric)
        cells = [
            name_method(rival),
            *(str(int(each.sum())) for each in (gain > 0, gain < 0, gain == 0)),
            {"text": shown, "tone": tone},
            show_p(test["p"]),
            {"text": show_p(test["p_holm"]), "strong": test["different"]},
        ]
        rows.append({"cells": cells, "accent": rival in (OURS, PAPER)})
    decisive = tests.reset_index() if pairs is None else pairs
    chosen = decisive[decisive["different"]]
    different = set(map(frozenset, zip(chosen["first"], chosen["second"], strict=True)))
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for rival in standing.ranks.index.drop(control):
        if frozenset((control, rival)) in different:
            middle = sign * tests["difference"][rival]
            found["better" if middle > 0 else "worse"].append(name_method(rival))
    return {
        "name": name_method(control),
        "rows": rows,
        "n_rivals": len(rows),
        "n_tests": len(decisive),
        "smallest_p": smallest_p(len(rounded)),
        "needed": ALPHA / len(rows),
        "enough": smallest_p(len(rounded)) * len(decisive) <= ALPHA,
        **found,
    }


def within_table(part: Part, control: str) -> dict[str, Any] | None:
    """Return a method against each rival within each data set, by corrected t-tests."""
    cells = part.cells[part.cells["metric"] == part.metric]
    if not part.experiment.cross_validated or control not in part.methods:
        return None
    wide = cells.pivot(
        index=["dataset", "rate", "seed", "fold"], columns="method", values="value"
    )
    sizes = cells[["dataset", "rate"]].assign(
        n_train=[params.get("n_train") for params in cells["params"]],
        n_test=[params.get("n_test") for params in cells["params"]],
    )
    sizes = sizes.astype({"n_train": float, "n_test": float})
    means = sizes.groupby(["dataset", "rate"])[["n_train", "n_test"]].mean()
    means["n_train"] = means["n_train"].fillna(max(cells["fold"].max(), 1))
    means["n_test"] = means["n_test"].fillna(1.0)
    by_row = {row: wide.xs(row, level=("dataset", "rate")) for row in part.rows}
    rows, n_tests, n_marked = [], 0, 0
    for rival in [key for key in part.methods if key != control]:
        entries: list[Cell] = []
        for row, values in by_row.items():
            gain = (values[control] - values[rival]).dropna()
            if len(gain) < 2:
                entries.append({"text": DASH})
                continue
            n_train, n_test = means.loc[row]
            test = corrected_t(gain, n_train=n_train, n_test=n_test)
            shown = show_difference(test.mean, part.metric)
            n_tests += 1
            if test.p <= ALPHA:
                n_marked += 1
                is_better = (test.mean > 0) == part.experiment.higher_is_better
                tone = "better" if is_better else "worse"
                arrow = BETTER if is_better else WORSE
                entries.append({"text": f"{shown} {arrow}", "tone": tone})
            else:
                entries.append({"text": shown})
        if any(entry["text"] != DASH for entry in entries):
            accent = rival in (OURS, PAPER)
            rows.append({"cells": [name_method(rival), *entries], "accent": accent})
    if not rows:
        return None
    columns = [name_row(part.experiment, row) for row in part.rows]
    return {
        "columns": [f"{name_method(control)} minus", *columns],
        "rows": rows,
        "n_tests": n_tests,
        "n_marked": n_marked,
        "n_by_chance": round(ALPHA * n_tests),
    }


# --- figures


def show_figure(
    experiment: Experiment, contents: Mapping[str, Any], parts: Sequence[Part]
) -> list[dict[str, Any]]:
    """Return the drawings of each run of a figure, and its accuracies over seeds."""
    shown: dict[tuple[str, str], dict[str, Any]] = {}
    has_stand_ins = experiment.settings != experiment.stand_ins

    def kind_of(label: str) -> tuple[str, str]:
        protocol = label.removesuffix("-digits")
        is_other = has_stand_ins and protocol != label
        return protocol, "stand-ins" if is_other else "paper"

    labels = sorted(contents, key=lambda label: (_order(*kind_of(label)), label))
    # Without stand-ins, all runs draw the same.
    for label in labels if has_stand_ins else labels[:1]:
        name, content = f"{experiment.name}-{label}", contents[label]
        shown[kind_of(label)] = SHOW[experiment.name](name, content)
    for part in parts:
        of_seeds = shown.setdefault((part.protocol, part.kind), {})
        of_seeds["seeds"] = list(seed_rows(part))
    return [
        {"title": name_protocol(protocol), "tag": TAGS[kind], **some}
        for (protocol, kind), some in shown.items()
    ]


def seed_rows(part: Part) -> Iterator[dict[str, Any]]:
    """Yield the mean over seeds and the range of each method."""
    values = part.cells[part.cells["metric"] == part.metric].groupby("method")["value"]
    found = values.agg(["mean", "min", "max", "count"]).reindex(part.methods)
    best = (
        found["mean"].max() if part.experiment.higher_is_better else found["mean"].min()
    )
    for method, row in found.iterrows():
        numbers = [
            DASH if np.isnan(row[key]) else show_value(row[key], part.metric)
            for key in ("mean", "min", "max")
        ]
        first = {"text": numbers[0], "strong": row["mean"] == best}
        cells = [name_method(method), first, *numbers[1:], str(int(row["count"]))]
        yield {"cells": cells, "accent": method in (OURS, PAPER)}


def show_images(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return rows of images: the paper's own few, and all."""
    n_images = len(content["original"])
    strips = [
        {
            "n_images": number,
            "large": number <= N_FIRST,
            "rows": [
                (name_method(key), to_png(images[:number]), key in (OURS, PAPER))
                for key, images in content.items()
            ],
        }
        for number in dict.fromkeys((min(N_FIRST, n_images), n_images))
    ]
    return {"strips": strips}


def to_png(images: np.ndarray) -> str:
    """Return images side by side as a data address; missing pixels are in colour.

    ``images`` are squares as flat rows, with intensities from 0, which is white, to 1.
    """
    from matplotlib.image import imsave
    from PIL.PngImagePlugin import PngInfo  # comes with matplotlib

    side = round(images.shape[1] ** 0.5)
    squares = images.reshape(-1, side, side)
    grey = 255 * (1 - np.clip(np.nan_to_num(squares), 0, 1))
    painted = np.full((len(squares), side, side + 2, 4), 0, np.uint8)  # gaps are clear
    painted[:, :, :side, :3] = grey.round()[..., None]
    painted[:, :, :side, :3][np.isnan(squares)] = MISSING
    painted[:, :, :side, 3] = 255
    stream = io.BytesIO()
    imsave(
        stream,
        np.concatenate(list(painted), axis=1)[:, :-2],
        format="png",
        pil_kwargs={"optimize": True, "pnginfo": PngInfo()},  # the same everywhere
    )
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"


def draw_ranks(name: str, ranks: pd.Series, groups: Sequence[Sequence[str]]) -> str:
    """Draw a critical-difference plot: methods down, mean ranks across.

    A bar at the right joins the methods of each group.
    """
    methods = list(ranks.index)
    with drawing(WIDTH + 0.1 * len(groups), 0.55 + 0.235 * len(ranks)) as figure:
        axes = figure.add_subplot()
        for y, (method, rank) in enumerate(ranks.items()):
            colour = ACCENT if method in (OURS, PAPER) else MUTED
            axes.plot([1, rank], [y, y], color=LINE, linewidth=1.4, zorder=1)
            axes.plot(rank, y, "o", color=colour, markersize=6, zorder=3)
            beside = {"xytext": (7, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{rank:.2f}", (rank, y), fontsize=8, color=INK, **beside)
        for lane, group in enumerate(groups):
            x = len(methods) + 1.4 + 0.75 * lane
            places = [methods.index(method) for method in group]
            axes.plot([x, x], [min(places), max(places)], color=MUTED, linewidth=1.2)
            axes.plot([x] * len(places), places, "o", color=INK, markersize=3.2)
        axes.set_xticks(range(1, len(methods) + 1, 1 if len(methods) <= 10 else 2))
        axes.set_xlim(0.8, len(methods) + 1.0 + 0.75 * len(groups))
        axes.spines["bottom"].set_bounds(1, len(methods))
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("mean rank", x=0.4 if groups else 0.5)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(methods)), [name_method(each) for each in methods])
        axes.set_ylim(len(methods) - 0.4, -0.6)
        return to_svg(figure, name, f"Mean ranks of {len(methods)} methods")


def show_gamma(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the density of the missing coordinate for each gamma."""
    gammas = content["gammas"]
    names = {gamma: f"= {gamma:g}" for gamma in gammas}
    names |= {g: f"→ 0 ({g:g})" for g in gammas if g == min(gammas) < 1}
    names |= {g: f"→ ∞ ({g:g})" for g in gammas if g == max(gammas) > 1}
    styles = zip(cycle((ACCENT, SECOND, THIRD)), cycle(("-", "--", ":")), strict=False)
    with drawing(WIDTH, 3.0) as figure:
        axes = figure.add_subplot()
        for gamma, density, (colour, style) in zip(
            gammas, content["density"], styles, strict=False
        ):
            label = f"γ {names[gamma]}"
            axes.plot(content["x"], density, color=colour, linestyle=style, label=label)
        axes.set_xlabel("missing coordinate")
        axes.set_ylabel("density")
        axes.set_ylim(0)
        axes.legend()
        title = "Density of the missing coordinate for each gamma"
        svg = to_svg(figure, name, title)
    weights = zip(gammas, content["component_weights"], strict=True)
    return {"gamma": svg, "weights": list(weights)}


def show_classes(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the points of the toy: the truth, and as each method classifies them."""
    test = np.delete(np.arange(len(content["classes"])), content["training"])
    truth = np.asarray(content["classes"])
    drawings = [draw_classes(f"{name}-truth", content, truth, "the truth")]
    fits = {k: v for k, v in content.items() if isinstance(v, Mapping) and "said" in v}
    for i, (key, fit) in enumerate(fits.items()):
        said = np.asarray(fit["said"])
        method = "paper, before training" if key == "initial" else name_method(key)
        title = f"{method}: {(said[test] == truth[test]).mean():.3f}"
        drawings.append(draw_classes(f"{name}-{i}", content, said, title, fit))
    return {"classes": drawings}


def draw_classes(
    name: str,
    content: Mapping[str, Any],
    classes: np.ndarray,
    title: str,
    gaussians: Mapping[str, Any] | None = None,
) -> str:
    """Draw points in the colours of classes, and Gaussians over them.

    Points that lack a coordinate are rings, at the place where they are in truth.
    """
    from matplotlib.patches import Ellipse

    points = np.asarray(content["complete"], dtype=float)
    complete = ~np.isnan(np.array(content["points"], dtype=float)).any(axis=1)
    with drawing(3.0, 2.5) as figure:
        axes = figure.add_subplot()
        for label, colour in ((0, FIRST_CLASS), (1, SECOND_CLASS)):
            for kind, face in ((complete, colour), (~complete, "none")):
                axes.scatter(
                    *points[kind & (classes == label)].T,
                    s=9,
                    facecolors=face,
                    edgecolors=colour,
                    linewidths=0.7,
                    rasterized=True,
                )
        for mean, variance in (
            zip(gaussians["means"], gaussians["variances"], strict=True)
            if gaussians
            else ()
        ):
            for times, width in ((2, 1.8), (4, 0.9)):  # one and two deviations wide
                size = times * np.sqrt(np.asarray(variance, dtype=float))
                ring = Ellipse(mean, *size, fill=False, edgecolor=INK, linewidth=width)
                axes.add_patch(ring)
        axes.grid(visible=False)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title)
        axes.tick_params(labelsize=8)
        return to_svg(figure, name, title)


def show_cost(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Draw how many times longer the layer takes than an ordinary one."""
    components = np.asarray(content["components"])
    fractions, drawings = content["shares"], []
    for key, title in (("forward", "forward"), ("step", "forward and backward")):
        with drawing(WIDTH, 3.3) as figure:
            axes = figure.add_subplot()
            line = {"color": INK, "label": "2k, as in the paper"}
            axes.plot(components, 2 * components, ":", **line)
            times = np.asarray(content[key]).T  # (fractions, components)
            for i, (fraction, of_fraction) in enumerate(
                zip(fractions, times, strict=True)
            ):
                axes.plot(
                    components,
                    of_fraction,
                    marker="osD^v"[i % 5],
                    markersize=4,
                    color=ACCENT if fraction else SECOND,
                    alpha=0.4 + 0.6 * i / max(len(times) - 1, 1) if fraction else 1,
                    label=f"{fraction:.0%} missing",
                )
            axes.set_xticks(components)
            axes.set_xlabel("components k")
            axes.set_ylabel("times as long")
            axes.set_ylim(0)
            axes.set_title(title)
            figure.legend(loc="outside lower center", ncols=3, fontsize=8.5)
            drawings.append(to_svg(figure, f"{name}-{key}", title))
    return {"cost": drawings, "content": content}


SHOW = {
    "figure-2": show_images,
    "figure-gamma": show_gamma,
    "figure-density": show_classes,
    "figure-cost": show_cost,
}


# --- how results came about


def show_origins(
    cells: pd.DataFrame, parts: Mapping[str, Sequence[Part]]
) -> dict[str, Any]:
    """Return protocols, runs, commits and versions, and what failed or is missing."""
    versions: dict[str, set[str]] = {}
    for each in cells["versions"]:
        for name, version in each.items():
            versions.setdefault(name, set()).add(version)
    every = [part for some in parts.values() for part in some]
    failed = cells[cells["value"].isna()]
    reasons = [params.get("why", "no reason is given") for params in failed["params"]]
    failures = failed.assign(reason=reasons).groupby(
        ["experiment", "protocol", "method", "reason"], sort=False
    )
    tables = [part for part in every if part.experiment.name in TABLES]
    return {
        "protocols": [
            (name_protocol(key), each.description) for key, each in PROTOCOLS.items()
        ],
        "runs": [_show_run(part) for part in every],
        "commits": commits_of(cells),
        "versions": {name: sorted(versions[name]) for name in sorted(versions)},
        "mixed": [name for name in sorted(versions) if len(versions[name]) > 1],
        "unknown": sorted(set(cells["experiment"]) - set(parts)),
        "failures": [
            (
                name_experiment(experiment),
                name_protocol(protocol),
                name_method(method),
                sorted(set(some["dataset"])),
                len(some),
                reason,
            )
            for (experiment, protocol, method, reason), some in failures
        ],
        "unfinished": [
            (name_experiment(part.experiment.name), part.title, *missing)
            for part in every
            if (missing := part.count_missing())[0]
        ],
        "only_stand_ins": bool(tables) and all(p.kind != "paper" for p in tables),
        "no_paper_protocol": bool(tables)
        and all((p.kind, p.protocol) != ("paper", PAPER) for p in tables),
    }


def _show_run(part: Part) -> list[str | float]:
    """Return the row of a part in the table of runs; its last cell are seconds."""
    missing, planned = part.count_missing()
    number = f"{len(part.cells):,}"
    # The metrics of one fit have the same time.
    fits = part.cells.drop_duplicates(["dataset", "rate", "method", "fold", "seed"])
    return [
        f"{name_experiment(part.experiment.name)}, {part.title.lower()}",
        TAGS[part.kind] or "the paper's",
        str(part.cells["seed"].nunique()),
        str(part.cells["fold"].nunique()),
        f"{number} / {planned:,}" if missing else number,
        str(int(part.cells["value"].isna().sum())),
        ", ".join(commits_of(part.cells)),
        float(fits["seconds"].sum()),
    ]


def commits_of(cells: pd.DataFrame) -> list[str]:
    """Return the commits of cells, each once, cut short."""

    def shorten(commit: str | None) -> str:
        if not isinstance(commit, str):
            return "unknown"
        changed = " with changes" if commit.endswith("-dirty") else ""
        return commit.removesuffix("-dirty")[:10] + changed

    return sorted(set(map(shorten, cells["commit"])))
