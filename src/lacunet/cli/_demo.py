"""``lacunet demo``: the library on a real table with missing values."""

from pathlib import Path
from typing import Any

import click

from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

TABLE, TARGET, EVENT = "mammographic_masses.csv", "severity", "malignant"
MODELS = ("lacunet", "linear", "hgb")
# Values that are blanked one after the other in a row of the test set.
BLANKED = ("margin", "shape", "age")


@options.command("Show it at work on a real table.")
@option(
    "--out",
    click.Path(file_okay=False, path_type=Path),
    "Folder for the page and the table.",
    "demo",
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
    from sklearn.model_selection import train_test_split

    from lacunet._output import open_output
    from lacunet.baselines import METHODS
    from lacunet.evaluation import METRICS, score
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

    y = table[TARGET]
    split = train_test_split(
        table.drop(columns=TARGET), y, test_size=0.3, stratify=y, random_state=0
    )
    X_train, X_test, y_train, y_test = split
    models, scores, rows_scores = {}, {}, []
    for key in MODELS:
        title = METHODS[key].title
        terminal.note(f"Fitting {title} ...")
        model = METHODS[key]("classification", random_state=0).fit(X_train, y_train)
        expected = model.predict_proba(X_test)
        found = score("classification", y_test.to_numpy(), expected, model.classes_)
        models[key], scores[key] = model, found
        rows_scores.append([title, *(f"{value:.3f}" for value in found.values())])
    titles = [metric.title for metric in METRICS["classification"]]
    terminal.print(f"\nFitted to {len(X_train)} rows, scored on {len(X_test)}:")
    terminal.print_table(("model", *(f">{title}" for title in titles)), rows_scores)

    steps = blank_values(models["lacunet"], X_test)
    rows_steps = [
        (step["known"] or "nothing", f"{step['probability']:.2f}", step["expected"])
        for step in steps
    ]
    header = ("known", f">{EVENT}", "expected in place of what is missing")
    terminal.print(f"\nOne held-out mass as values go missing ({EVENT} by our model):")
    terminal.print_table(header, rows_steps)

    rows_missing = [(name, n, f"{n / len(table):.1%}") for name, n in n_missing.items()]
    shown = {
        "title": "lacunet on mammographic masses",
        "table": table,
        "findings": profile.findings,
        "n_test": len(X_test),
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


def blank_values(model: Any, test: Any) -> list[dict[str, Any]]:
    """Return predictions for the clearest complete row as its values go missing."""

    def show(values: Any) -> str:
        texts = (f"{x:.0f}" if isinstance(x, float) else x for x in values)
        return ", ".join(map(" ".join, zip(values.index, texts, strict=True)))

    column = list(model.classes_).index(EVENT)
    rows = test.dropna().astype({"age": float})
    row = rows.iloc[[model.predict_proba(rows)[:, column].argmax()]]
    steps = []
    for number in range(len(BLANKED) + 1):
        missing = list(BLANKED[:number])
        blanked = row.copy()
        blanked[missing] = None
        step = {
            "known": show(row.iloc[0].drop(missing)),
            "missing": missing,
            "probability": float(model.predict_proba(blanked)[0, column]),
            "expected": show(model.impute(blanked).iloc[0][missing]),
        }
        steps.append(step)
    return steps
