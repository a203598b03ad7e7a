"""``lacunet demo``: the library on a real table with missing values."""

from pathlib import Path
from typing import Any

import click

from lacunet.cli._terminal import Terminal, common_options

TABLE, TARGET, EVENT = "mammographic_masses.csv", "severity", "malignant"
MODELS = ("lacunet", "linear", "hgb")
# Values that are blanked one after the other in a row of the test set.
BLANKED = ("margin", "shape", "age")
_HELP = """Show the library at work on a real table with missing values, in a minute.

The table comes with the package: 961 masses found by mammography (UCI Machine Learning
Repository, CC BY 4.0). The demo profiles what is missing, fits a classifier to 70% of
the rows, scores it on the others beside a linear model and boosted trees, and blanks
values of one row to show how the prediction moves. OUT gets the page and the table;
they are made anew each time."""
_EXAMPLES = """\b
Examples:
  lacunet demo
  lacunet demo --out /tmp/demo"""


@click.command(
    help=_HELP, epilog=_EXAMPLES, short_help="Show it at work on a real table."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo",
    show_default=True,
    help="Folder for the page and the table.",
)
@common_options
@click.pass_obj
def demo(terminal: Terminal, out: Path) -> None:
    """Show the library at work on a real table."""
    from importlib.resources import files

    import pandas as pd

    from lacunet._output import open_output
    from lacunet.baselines import METHODS
    from lacunet.evaluation import METRICS
    from lacunet.profile import profile_table
    from lacunet.report import write_page

    source = files("lacunet") / "data" / TABLE
    with open_output(out / TABLE, force=True) as stream:
        stream.write(source.read_bytes())
    table = pd.read_csv(out / TABLE)

    profile = profile_table(table, target=TARGET)
    n_missing = int(table.isna().sum().sum())
    terminal.say(f"{TABLE}: {len(table)} rows, {n_missing} values are missing.")
    for finding in profile.findings:
        terminal.say(f"- {finding.head}. {finding.text}")

    scores, ours, test = score_models(terminal, table)
    metrics = METRICS["classification"]
    titles = {key: METHODS[key].title for key in MODELS}
    terminal.say(f"\nFitted to {len(table) - len(test)} rows, scored on {len(test)}:")
    terminal.table(
        ("model", *(f">{metric.title}" for metric in metrics)),
        [
            (titles[key], *(f"{found[metric.key]:.3f}" for metric in metrics))
            for key, found in scores.items()
        ],
    )

    steps = blank_values(ours, test)
    terminal.say(f"\nOne held-out mass as values go missing ({EVENT} by our model):")
    terminal.table(
        ("known", f">{EVENT}", "expected in place of what is missing"),
        [
            (step["known"] or "nothing", f"{step['probability']:.2f}", step["expected"])
            for step in steps
        ],
    )
    page = write_page(
        out / "demo.html",
        "demo.html",
        lambda: {
            "title": "lacunet on mammographic masses",
            "table": table,
            "findings": profile.findings,
            "n_test": len(test),
            "scores": scores,
            "metrics": metrics,
            "event": EVENT,
            "rows_missing": [
                (name, number, f"{number / len(table):.1%}")
                for name, number in table.isna().sum().drop(TARGET).items()
            ],
            "rows_scores": [
                {
                    "cells": [titles[key], *(f"{each:.3f}" for each in found.values())],
                    "accent": key == "lacunet",
                }
                for key, found in scores.items()
            ],
            "rows_steps": [
                (step["known"], f"{step['probability']:.2f}", step["expected"])
                for step in steps
            ],
        },
        force=True,
    )
    terminal.say(f"\nThe page: {page}")
    terminal.say(f"Next: lacunet fit {out / TABLE} --target {TARGET} -o model")
    terminal.answer({"scores": scores, "steps": steps, "page": page})


def score_models(terminal: Terminal, table: Any) -> tuple[dict[str, Any], Any, Any]:
    """Return the scores of each model on held-out rows, our model and these rows."""
    from sklearn.model_selection import train_test_split

    from lacunet.baselines import METHODS
    from lacunet.evaluation import score

    train, test = train_test_split(
        table, test_size=0.3, stratify=table[TARGET], random_state=0
    )
    models, scores = {}, {}
    for key in MODELS:
        terminal.note(f"Fitting {METHODS[key].title} ...")
        model = METHODS[key]("classification", random_state=0)
        models[key] = model.fit(train.drop(columns=TARGET), train[TARGET])
        scores[key] = score(
            "classification",
            test[TARGET].to_numpy(),
            model.predict_proba(test.drop(columns=TARGET)),
            model.classes_,
        )
    return scores, models["lacunet"], test


def blank_values(model: Any, test: Any) -> list[dict[str, Any]]:
    """Return predictions for the clearest complete row as its values go missing."""
    column = list(model.classes_).index(EVENT)
    rows = test.drop(columns=TARGET).dropna()
    clearest = model.predict_proba(rows)[:, column].argmax()
    row = rows.iloc[[clearest]].astype({"age": float})
    steps = []
    for number in range(len(BLANKED) + 1):
        missing = list(BLANKED[:number])
        blanked = row.copy()
        blanked[missing] = None
        filled = model.impute(blanked).iloc[0]
        known = row.iloc[0].drop(missing).to_dict()
        steps.append(
            {
                "known": ", ".join(_show(name, value) for name, value in known.items()),
                "missing": missing,
                "probability": float(model.predict_proba(blanked)[0, column]),
                "expected": ", ".join(_show(name, filled[name]) for name in missing),
            }
        )
    return steps


def _show(name: str, value: Any) -> str:
    return f"{name} {value:.0f}" if isinstance(value, float) else f"{name} {value}"
