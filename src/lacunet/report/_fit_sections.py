"""The sections of a model that was judged on rows held out, as blocks."""

from collections.abc import Iterator, Sequence

from lacunet._text import show_percent
from lacunet.evaluation import METRICS, HoldOut, TableFacts
from lacunet.evaluation._card import list_parameters, show_metric
from lacunet.evaluation._hold_out_findings import Numbers, tell_holes
from lacunet.evaluation._hold_out_record import (
    OURS,
    RIVAL,
    TITLES,
    HoldOutFinding,
)
from lacunet.report._blocks import (
    Block,
    Column,
    Entry,
    Fold,
    Line,
    Lines,
    Part,
    Picture,
    Pictures,
    Point,
    Points,
    Section,
    Sheet,
    Text,
    Tone,
)
from lacunet.report._drawing import cut
from lacunet.report._fit_plots import (
    draw_agreement,
    draw_columns,
    draw_confusion,
    draw_holes,
    draw_learning,
    draw_reliability,
    draw_residuals,
)
from lacunet.report._words import MINUS, show_count, show_seconds

_MOST_BARS = 25
_MOST_LINES = 200
_DASH = "\N{EN DASH}"
_ANCHORS = {
    "scores": "scores",
    "reliability": "reliability",
    "columns": "columns-and-holes",
    "holes": "columns-and-holes",
    "classes": "reliability",
    "learning": "learning-curve",
}


# --- what is told first


def make_summary(found: HoldOut) -> tuple[Block, ...]:
    """Say how good it is, then the rest, and then what to beware of.

    Parameters
    ----------
    found : HoldOut

    Returns
    -------
    tuple of Block
    """
    first, rest = found.findings[:2], found.findings[2:]
    fine = [*first, *(each for each in rest if not each.weak)]
    blocks: list[Block] = [_list_points(fine)]
    weak = [each for each in rest if each.weak]
    if weak:
        blocks.append(Part("What to beware of", (_list_points(weak),)))
    return tuple(blocks)


def _list_points(findings: Sequence[HoldOutFinding]) -> Points:
    return Points(
        tuple(Point(each.head, each.text, _ANCHORS[each.about]) for each in findings)
    )


def tell_size(found: HoldOut, table: TableFacts | None) -> str:
    """Return what was predicted from what, in words."""
    size = (
        f"{show_count(found.n_columns, 'column')}, {show_count(found.n_train, 'row')} "
        f"to learn from, {found.n_test:,} held out to judge by"
    )
    if table is None:
        return f"A {found.task} from {size}"
    return f"{table.target} in {table.name}: a {found.task} from {size}"


# --- scores


def make_scores_section(found: HoldOut) -> Section:
    """Show the scores of the three models."""
    metrics, numbers = METRICS[found.task], Numbers(found)
    arrows = {True: "\N{UPWARDS ARROW}", False: "\N{DOWNWARDS ARROW}"}
    titles = [f"{each.title} {arrows[each.higher_is_better]}" for each in metrics]
    lines = tuple(
        Line(
            TITLES[name],
            (
                *_show_scores(found, name),
                _show_lead(found, name),
                _show_time(found, name),
            ),
            accent=name == OURS,
        )
        for name in found.scores
    )
    caption = (
        f"\N{DOWNWARDS ARROW} lower is better, \N{UPWARDS ARROW} higher is better; the "
        f"best in bold. ± is the standard error over the rows held out. The lead of "
        f"lacunet is in {numbers.title}, from row to row; in colour where it is more "
        f"than two standard errors. The trivial model says "
        f"{_tell_trivial(found)}, whatever the row."
    )
    columns = tuple(map(Column, (*titles, "lead of lacunet", "time to fit")))
    return Section("Scores", (Sheet("model", columns, (Lines(lines),), caption),))


def _tell_trivial(found: HoldOut) -> str:
    if found.task == "regression":
        return "the mean of the target"
    return "how frequent the classes are"


def _show_scores(found: HoldOut, name: str) -> Iterator[Entry]:
    for place, metric in enumerate(METRICS[found.task]):
        sign = 1 if metric.higher_is_better else -1
        values = {
            each: scores[metric.key]
            for each, scores in found.scores.items()
            if scores[metric.key] is not None
        }
        shown = show_metric(found, name, metric.key)
        best = max(values.values(), key=lambda each: sign * (each or 0), default=None)
        winners = {
            show_metric(found, e, metric.key) for e in values if values[e] == best
        }
        error = found.estimates[name].error if not place else None
        spread = "" if error is None else f"± {Numbers(found).show(error)}"
        yield Entry(shown, spread, strong=shown in winners)


def _show_lead(found: HoldOut, name: str) -> Entry:
    lead = found.leads.get(name)
    if lead is None:
        return Entry(_DASH)
    numbers = Numbers(found)
    tone: Tone = ""
    if lead.is_sure:
        tone = "better" if lead.value > 0 else "worse"
    shown = f"{lead.value:+{numbers.form}}".replace("-", MINUS)
    error = "" if lead.error is None else f"± {numbers.show(lead.error)}"
    return Entry(shown, error, tone=tone)


def _show_time(found: HoldOut, name: str) -> Entry:
    return Entry(show_seconds(found.seconds[name]))


# --- what it says beside what happens


def make_reliability_section(found: HoldOut, table: TableFacts | None) -> Section:
    """Show predictions beside what was observed."""
    if found.task == "regression":
        return _make_agreement_section(found, table)
    pictures, captions = [_draw_reliability(found)], [_tell_reliability(found)]
    if found.confusion:
        names = [str(each.name) for each in found.classes]
        svg = draw_confusion("confusion", names, found.confusion)
        pictures.append(Picture(svg, "Right and wrong"))
        captions.append(
            "Second: rows held out by class; blue is right, orange is wrong, and the "
            "stronger, the larger the share of its line."
        )
    blocks = (
        Pictures(tuple(pictures), " ".join(captions)),
        Fold("Classes in figures", (_classes_sheet(found),)),
    )
    return Section(
        "Reliability", blocks, "Whether 80% means 80%, and what is mistaken."
    )


def _draw_reliability(found: HoldOut) -> Picture:
    several = len(found.classes) > 2
    event = "rows in which it was right" if several else "rows of that class"
    start = 1 / len(found.classes) if several else 0.0
    svg = draw_reliability("reliability", found.reliability, start=start, title=event)
    return Picture(svg, f"Probability of {_name_event(found)}")


def _name_event(found: HoldOut) -> str:
    if len(found.classes) > 2:
        return "the likeliest class"
    return f"the class {cut(str(found.classes[1].name), 40)}"


def _tell_reliability(found: HoldOut) -> str:
    errors = " ".join(
        f"{TITLES[name]} is {each.calibration_error:.3f} off on average, and without "
        f"fault would be {each.by_chance:.3f} off by chance."
        for name, each in found.reliability.items()
    )
    return (
        f"First: in bins of about as many rows each. On the dotted line, what is said "
        f"is what happens; below it, what is said is too high. The thin lines hold the "
        f"true share with a confidence of 95%. {errors}"
    )


def _make_agreement_section(found: HoldOut, table: TableFacts | None) -> Section:
    target = "target" if table is None else table.target
    pictures = (
        Picture(
            draw_agreement("agreement", found.agreement, target),
            "Observed where about the same was predicted",
        ),
        Picture(draw_residuals("residuals", found.agreement), "How far off it is"),
    )
    caption = (
        "First: rows with about the same prediction, as many in each bin; the dot is "
        "the mean of what was observed, on the dotted line if predictions are right on "
        "average. With lacunet, half of the rows are in the broad bar, nine of ten in "
        "the thin one. Second: the same for what was observed less what was predicted."
    )
    lead = "Whether what it says is what happens."
    return Section("Reliability", (Pictures(pictures, caption),), lead)


# --- columns and holes


def make_columns_section(found: HoldOut) -> Section:
    """Show which columns the model relies on, and how it does where they lack."""
    importance, numbers = found.importance, Numbers(found)
    shown = importance.columns[:_MOST_BARS]
    title = f"{numbers.title} lost when it is hidden"
    svg = draw_columns("columns", shown, numbers.show, title)
    pictures = [Picture(svg, "Columns that matter")]
    if len(found.by_holes) > 1:
        svg = draw_holes("holes", found.by_holes, numbers.title)
        pictures.append(Picture(svg, "Error against missing values"))
    blocks = (
        Pictures(tuple(pictures), f"{_tell_columns(found)} {_tell_holes(found)}"),
        Fold("Columns in figures", (_columns_sheet(found),)),
    )
    lead = "What the model relies on, and how it does without."
    return Section("Columns and holes", blocks, lead)


def _tell_columns(found: HoldOut) -> str:
    importance, numbers = found.importance, Numbers(found)
    n_more = len(importance.columns) - _MOST_BARS
    some = f" {_MOST_BARS} of them are drawn." if n_more > 0 else ""
    return (
        f"First: by how much the {numbers.title} of lacunet gets worse when a column "
        f"is hidden in {show_count(importance.n_rows, 'row')} held out; lines are two "
        f"standard errors, and bars within them are grey. Orange: it does better "
        f"without. Hidden were {importance.rule}.{some} Of columns that tell the same, "
        f"none may seem to matter."
    )


def _tell_holes(found: HoldOut) -> str:
    bins = found.by_holes
    if len(bins) > 1:
        return (
            f"Second: the {Numbers(found).title} of rows held out, by how many of "
            f"their {found.n_columns:,} values are missing; lines are one standard "
            f"error."
        )
    if bins[0].fewest == bins[0].most:
        return f"All rows held out have {tell_holes(bins[0])}."
    return "The rows held out are too few to compare them by what they lack."


def _columns_sheet(found: HoldOut) -> Sheet:
    numbers = Numbers(found)
    lines = tuple(
        Line(
            each.name,
            (
                Entry(numbers.show(each.lost.value)),
                Entry("" if each.lost.error is None else numbers.show(each.lost.error)),
            ),
        )
        for each in found.importance.columns
    )
    titles = (f"{numbers.title} lost", "standard error")
    return Sheet("column", tuple(map(Column, titles)), (Lines(lines),))


# --- training and classes


def make_learning_section(found: HoldOut) -> Section:
    """Show the course of training."""
    svg = draw_learning("learning", found.learning)
    said = "log-loss" if found.task == "classification" else "squared error (scaled)"
    caption = (
        f"{show_count(found.n_epochs, 'epoch')} of at most {found.max_epochs:,}. "
        f"Above: the {said} of rows that networks hold back, none of which is held out "
        f"here; dots where a view of the table was better than ever, and its weights "
        f"were kept. Below: the loss that is minimised, with more values hidden and "
        f"with the density's own part: the two don't compare. Both are means over the "
        f"views that are still in training, and jump when one is done."
    )
    return Section("Learning curve", (Pictures((Picture(svg),), caption),))


def _classes_sheet(found: HoldOut) -> Sheet:
    lines = []
    for place, each in enumerate(found.classes[:_MOST_LINES]):
        entries = [Entry(f"{each.n_train:,}"), Entry(f"{each.n_test:,}")]
        if found.confusion:
            right = found.confusion[place][place]
            chosen = sum(row[place] for row in found.confusion)
            entries += [_show_ratio(right, each.n_test), _show_ratio(right, chosen)]
        lines.append(Line(str(each.name), tuple(entries)))
    titles = ["rows learned from", "rows held out"]
    if found.confusion:
        titles += ["of these, recognised", "right where chosen"]
    more = len(found.classes) - len(lines)
    caption = f"{more:,} more classes." if more else ""
    columns = tuple(map(Column, titles))
    return Sheet("class", columns, (Lines(tuple(lines)),), caption)


def _show_ratio(part: int, whole: int) -> Entry:
    return Entry(show_percent(part / whole) if whole else _DASH)


# --- how it was done


def make_protocol_section(found: HoldOut, table: TableFacts | None) -> Section:
    """Say how it was measured, and with what."""
    blocks: list[Block] = [Text(_tell_protocol(found))]
    if table is not None:
        blocks.append(Text(_tell_table(found, table)))
        blocks.append(Fold("Columns of the table", (_table_sheet(table),)))
    if found.model is not None:
        blocks.append(Fold("Parameters", (_parameters_sheet(found),)))
    made = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    blocks.append(Text(f"Made with {made}."))
    return Section("Protocol", tuple(blocks))


def _tell_protocol(found: HoldOut) -> str:
    kept = ""
    if found.task == "classification":
        kept = " Shares of the classes are kept where they have rows enough."
    return (
        f"{show_count(found.n_test, 'row')} of {found.n_train + found.n_test:,} "
        f"({found.test_size:.0%}) were held out by chance, with the seed "
        f"{found.random_state}.{kept} All models learned from the other "
        f"{found.n_train:,}, scales and densities included, and were asked about these "
        f"once. {TITLES[RIVAL]} is scikit-learn's, at its defaults; categories are "
        f"given to it as such."
    )


def _tell_table(found: HoldOut, table: TableFacts) -> str:
    told = (
        f"{table.name} has {show_count(table.n_rows, 'row')}, "
        f"{table.n_unlabelled:,} of them without a value of {table.target}."
    )
    if found.n_unlabelled:
        told += (
            f" lacunet learned from {found.n_unlabelled:,} of these how columns go "
            f"together; the other models can't."
        )
    return told


def _table_sheet(table: TableFacts) -> Sheet:
    shown = table.inputs[:_MOST_LINES]
    lines = tuple(
        Line(
            column.name,
            (
                Entry(column.kind),
                Entry(f"{column.n_missing:,}"),
                Entry(show_percent(table.share_missing(column))),
            ),
        )
        for column in shown
    )
    more = len(table.inputs) - len(shown)
    caption = f"{more:,} more columns." if more else ""
    titles = ("kind", "missing", "share")
    return Sheet("column", tuple(map(Column, titles)), (Lines(lines),), caption)


def _parameters_sheet(found: HoldOut) -> Sheet:
    lines = tuple(
        Line(name, (Entry(cut(value, 200), strong=chosen),))
        for name, value, chosen in list_parameters(found.model)
    )
    caption = "In bold: others than the defaults."
    kind = type(found.model).__name__
    return Sheet(kind, (Column("value"),), (Lines(lines),), caption, prose=True)
