"""``lacunet demo``: the library on a real table with missing values."""

from pathlib import Path
from typing import Any

import click

from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

TABLE, TARGET, EVENT = "mammographic_masses.csv", "severity", "malignant"
MODELS = ("lacunet", "linear", "hgb")
# Values that are blanked one after the other in a row of the test set.
BLANKED = ("margin", "shape", "age")


@options.command("Show it at work on a real table.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo",
    show_default=True,
    help="Folder for the page and the table.",
)
def demo(terminal: Terminal, out: Path) -> None:
    """Show the library at work on a real table with missing values, in a minute.

    The table comes with the package: 961 masses found by mammography (UCI Machine
    Learning Repository, CC BY 4.0). The demo profiles what is missing, fits a
    classifier to 70% of the rows, scores it on the others beside a linear model and
    boosted trees, and blanks values of one row to show how the prediction moves. OUT
    gets the page and the table; they are made anew each time.

    Examples
    --------
    lacunet demo
    lacunet demo --out /tmp/demo
    """
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
    n_missing = table.drop(columns=TARGET).isna().sum()
    terminal.print(f"{TABLE}: {len(table)} rows, {n_missing.sum()} values are missing.")
    terminal.print_findings(profile.findings)

    scores, ours, test = score_models(terminal, table)
    titles = [metric.title for metric in METRICS["classification"]]
    rows_scores = [
        [METHODS[key].title, *(f"{value:.3f}" for value in found.values())]
        for key, found in scores.items()
    ]
    terminal.print(f"\nFitted to {len(table) - len(test)} rows, scored on {len(test)}:")
    terminal.print_table(("model", *(f">{title}" for title in titles)), rows_scores)

    steps = blank_values(ours, test)
    rows_steps = [
        (step["known"] or "nothing", f"{step['probability']:.2f}", step["expected"])
        for step in steps
    ]
    expected = "expected in place of what is missing"
    terminal.print(f"\nOne held-out mass as values go missing ({EVENT} by our model):")
    terminal.print_table(("known", f">{EVENT}", expected), rows_steps)

    rows_missing = [(name, n, f"{n / len(table):.1%}") for name, n in n_missing.items()]
    shown = {
        "title": "lacunet on mammographic masses",
        "table": table,
        "findings": profile.findings,
        "n_test": len(test),
        "scores": scores,
        "event": EVENT,
        "rows_missing": rows_missing,
        "titles": titles,
        "rows_scores": rows_scores,
        "rows_steps": rows_steps,
    }
    page = write_page(out / "demo.html", "demo.html", lambda: shown, force=True)
    terminal.print(f"\nThe page: {page}")
    terminal.print(f"Next: lacunet fit {out / TABLE} --target {TARGET} -o model")
    terminal.print_json({"scores": scores, "steps": steps, "page": page})


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
