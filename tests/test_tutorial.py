"""The commands of docs/tutorial.md, as they are printed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lacunet.cli._main import lacunet

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"```(console|text)\n(.*?)```", re.S)
BLOCKS = BLOCK.findall(PAGE.read_text("utf-8"))
COMMANDS = [
    line
    for kind, block in BLOCKS
    if kind == "console"
    for line in block.splitlines()
    if "lacunet" in line and not line.startswith("pip")
]
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def begins_as_shown(printed, shown):
    """Compare words exactly and numbers roughly: CPUs round differently."""
    printed, shown = (" ".join(line.split()) for line in (printed, shown))
    shown = shown.removesuffix("…")
    words = map(re.escape, NUMBER.split(shown))
    found = re.match(f"({NUMBER.pattern})".join(words), printed)
    if not found:
        return False
    expected = [float(number) for number in NUMBER.findall(shown)]
    return [float(number) for number in found.groups()] == pytest.approx(
        expected, rel=0.05, abs=0.05
    )


def test_all_commands_for_tables_are_walked_through():
    used = {re.search(r"lacunet (\w+)", line)[1] for line in COMMANDS}
    assert used == {"demo", "profile", "fit", "predict", "impute", "compare"}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, name, *given = shlex.split(re.sub(r".*\| | > .*", "", line))
    lacunet.commands[name].make_context(name, given, resilient_parsing=False)


@pytest.mark.slow
def test_commands_print_what_is_shown(tmp_path):
    (tmp_path / "lacunet").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m lacunet "$@"\n'
    )
    (tmp_path / "lacunet").chmod(0o755)
    printed = ""
    for kind, block in BLOCKS:
        if kind == "text":
            for line in block.splitlines():
                assert any(
                    begins_as_shown(each, line) for each in printed.splitlines()
                ), f"{line!r} is not in {printed}"
            continue
        for line in block.splitlines():
            if line.startswith("pip"):
                continue
            ended = subprocess.run(
                ["sh", "-c", f'PATH="{tmp_path}:$PATH"; {line}'],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == int("tumour" in line), ended.stderr
            printed = ended.stdout + ended.stderr
            if line.endswith("predictions.csv"):
                printed += (tmp_path / "predictions.csv").read_text()
    assert not list(tmp_path.glob(".*"))
    for name in ("profile.html", "fit.html", "compare.html", "draw-3.csv"):
        assert (tmp_path / name).stat().st_size > 1000
    first, second = (
        (tmp_path / name).read_text()
        for name in ("predictions.csv", "predictions-2.csv")
    )
    assert first == second
    assert len(first.splitlines()) == 20
