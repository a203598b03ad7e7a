"""The page on the command agrees with the command."""

import re
import shlex
from pathlib import Path

import pytest

from lacunet.cli._main import lacunet
from lacunet.cli._options import FLAGS, READING

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text("utf-8")
COMMON = {"--quiet", "--json", "--debug", "--help"}
OF_READING, OF_ESTIMATORS = set(READING), set(FLAGS)


def examples():
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def section(name):
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def options_of(name):
    parameters = lacunet.commands[name].params
    found = {each.opts[-1] for each in parameters if each.opts[0].startswith("-")}
    return found - OF_READING - OF_ESTIMATORS - COMMON


@pytest.mark.parametrize("line", examples())
def test_examples_are_understood(line):
    between = re.search(r"lacunet [^|]*", line)[0]  # of pipes
    program, name, *arguments = shlex.split(between)
    assert program == "lacunet"
    assert lacunet.commands[name].make_context(name, arguments).params


@pytest.mark.parametrize("name", sorted(lacunet.commands))
def test_each_command_has_a_section_with_examples_and_all_options(name):
    text = section(name)
    assert f"```console\nlacunet {name}" in text
    rows = re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE)
    named = {option for row in rows for option in re.findall("`(--[a-z-]+)`", row)}
    # What is set by default is named by what turns it off.
    assert {each.replace("--no-", "--") for each in named} == options_of(name)


def test_options_for_reading_are_named_and_all_readers_have_them():
    text = section("Options for reading")
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", text, re.MULTILINE)) == OF_READING
    for name in ("profile", "fit", "predict", "check", "impute", "compare"):
        parameters = {
            opt for each in lacunet.commands[name].params for opt in each.opts
        }
        assert parameters >= OF_READING


def test_options_of_all_commands_are_named():
    text = section("For all commands")
    assert all(f"`{option}`" in text for option in COMMON)
