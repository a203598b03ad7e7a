import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lacunet.cli._terminal import Terminal

HEADER = ("name", ">rows", "what")
ROWS = [("a", "1", "[bold]x"), ("long", "100", "y")]


def printed(capsys, **options):
    """Return what a terminal writes of each kind of thing."""
    terminal = Terminal(**options)
    terminal.print("result")
    terminal.note("note")
    terminal.warn("careful")
    terminal.print_json({"path": Path("a")})
    terminal.print_table(("name",), [("row",)])
    return capsys.readouterr()


def test_results_and_notes_go_different_ways(capsys):
    out, err = printed(capsys)
    assert out == "result\nname\nrow\n"
    assert err == "note\nWarning: careful\n"


def test_quiet_leaves_what_must_not_be_missed(capsys):
    assert printed(capsys, quiet=True) == ("", "Warning: careful\n")


def test_json_is_all_there_is_on_standard_output(capsys):
    out, err = printed(capsys, as_json=True)
    assert json.loads(out) == {"path": "a"}
    assert err == "note\nWarning: careful\n"
    out, _ = printed(capsys, as_json=True, quiet=True)
    assert json.loads(out) == {"path": "a"}


def test_json_has_no_nan():
    with pytest.raises(ValueError, match="JSON"):
        Terminal(as_json=True).print_json({"value": float("nan")})


def test_a_plain_table_is_aligned_and_as_wide_as_it_must_be(capsys):
    Terminal().print_table(HEADER, [*ROWS, ("b", "22", "z" * 200)])
    assert capsys.readouterr().out.splitlines() == [
        "name  rows  what",
        "a        1  [bold]x",
        "long   100  y",
        f"b       22  {'z' * 200}",
    ]


def test_of_a_long_table_the_first_rows_are_printed(capsys):
    Terminal().print_table(("column",), [("a",), ("b",), ("c",)], max_rows=1)
    assert capsys.readouterr().out == "column\na\n... and 2 more columns.\n"


def test_a_table_at_a_terminal_fits_and_is_no_markup(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    Terminal().print_table(HEADER, [*ROWS, ("b", "22", "z " * 100)])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1].split() == ["a", "1", "[bold]x"]
    assert lines[2].startswith("long   100  y")


PRINTS_ON = """
import sys
from pathlib import Path
from lacunet.cli._terminal import Terminal
terminal = Terminal()
sys.stdin.read()
for _ in range(9):
    terminal.print("a" * 9999)
terminal.print_table(["a"], [["b"]])
terminal.note("noted")
Path(sys.argv[1]).write_text("finished")
"""


def test_work_is_finished_when_nobody_reads_on(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", PRINTS_ON, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.stdin.close()
    noted = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), noted) == (0, b"noted\n")
    assert (tmp_path / "out").read_text() == "finished"


def test_rows_are_counted_in_a_line_that_notes_replace(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    Terminal(quiet=True).count_rows("filled", "a.csv")(9)
    Terminal().count_rows("filled", "-")(9)
    assert capsys.readouterr().err == ""
    Terminal().count_rows("filled", "a.csv")(1200)
    Terminal().note("noted")
    shown = "1,200 rows filled"
    assert capsys.readouterr().err == f"\r{shown}\r{' ' * len(shown)}\rnoted\n"
