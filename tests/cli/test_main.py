import errno
import json
import os
import signal
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

import lacunet as package
from lacunet.cli import main
from lacunet.cli._main import lacunet
from lacunet.exceptions import LacunetError

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(lacunet.commands)
FIRST = "karma,geom,knn,mice"  # of table 4
HEAVY = ("numpy", "scipy", "sklearn", "torch", "rich", "matplotlib", "tqdm")


@pytest.fixture
def broken(monkeypatch):
    """Make the report fail in a way of choice."""

    def fail(error):
        def callback(*_, **__):
            raise error

        monkeypatch.setattr(lacunet.commands["report"], "callback", callback)

    return fail


def test_there_are_the_commands_for_the_paper_and_for_tables():
    of_the_paper = {"datasets", "demo", "report", "reproduce"}
    of_tables = {"compare", "fit", "impute", "predict", "profile"}
    assert set(COMMANDS) == of_the_paper | of_tables


def test_the_script_is_the_command():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert scripts["scripts"] == {"lacunet": f"{main.__module__}:{main.__name__}"}


def loaded_by(*arguments):
    """Return what heavy packages a fresh interpreter has after the command."""
    program = (
        "import sys\nfrom lacunet.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "-h"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    assert loaded_by(*arguments) == []


def test_help_has_all_commands_and_version_is_that_of_the_package(call):
    assert all(name in call("--help").stdout for name in COMMANDS)
    assert call("--version").stdout == f"lacunet {package.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example_and_the_common_options(call, name):
    said = call(name, "--help")
    assert said.exit_code == 0
    assert f"  lacunet {name}" in said.stdout.partition("Examples:")[2]
    assert all(option in said.stdout for option in ("--quiet", "--json", "--debug"))
    assert max(map(len, said.stdout.splitlines())) <= 88


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["--nothing"],
        ["reproduce"],
        ["reproduce", "table-5"],
        ["demo", "x"],
    ],
)
def test_wrong_usage_is_two(call, arguments):
    said = call(*arguments)
    assert said.exit_code == 2
    assert said.stdout == ""
    assert "Usage:" in said.stderr


@pytest.mark.parametrize(
    "error",
    [
        LacunetError("Got a, but expected b."),
        ValueError("Got a, but expected b."),
        OSError("Got a, but expected b."),
        ImportError("Got a, but expected b."),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_is_one(call, broken, error):
    broken(error)
    said = call("report")
    assert said.exit_code == 1
    assert said.stdout == ""
    assert said.stderr == "Error: Got a, but expected b.\n"


def test_long_messages_are_cut_to_three_lines(call, broken):
    broken(ValueError("a\nb\nc\nd"))
    assert call("report").stderr == "Error: a\nb\nc\n"


def test_an_error_without_words_has_its_name(call, broken):
    broken(FileNotFoundError())
    assert call("report").stderr == "Error: FileNotFoundError\n"


def test_a_package_that_is_missing_is_told_with_what_to_do(call, broken):
    broken(ModuleNotFoundError("No module named 'rich'", name="rich"))
    said = call("report")
    assert (said.exit_code, said.stderr.count("\n")) == (1, 1)
    assert "No module named 'rich'. Install what is missing with pip" in said.stderr


@pytest.mark.parametrize("arguments", [["--debug", "report"], ["report", "--debug"]])
def test_debug_lets_the_error_through(call, broken, arguments):
    error = ValueError("a")
    broken(error)
    assert call(*arguments).exception is error


def test_our_own_faults_are_not_hidden(call, broken):
    error = KeyError("a")
    broken(error)
    assert call("report").exception is error


def test_a_reader_that_is_gone_is_no_error_of_ours(call, broken):
    broken(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    said = call("report")
    assert (said.exit_code, said.output) == (141, "")


def test_an_interrupt_is_a_line_and_its_own_code(call, broken):
    broken(KeyboardInterrupt())
    said = call("report")
    assert (said.exit_code, said.output) == (130, "Stopped.\n")


def test_warnings_are_shown_without_their_place(call, monkeypatch):
    def callback(**_):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("the last line is passed over", stacklevel=1)

    command = click.command(callback)
    monkeypatch.setitem(lacunet.commands, "report", command)
    before = warnings.showwarning
    said = call("report")
    assert said.stderr == "Warning: the last line is passed over\n"
    assert warnings.showwarning is before


def test_without_click_the_command_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "lacunet.cli._main")
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match=r"pip install 'lacunet\[cli\]'"):
        main([])


def completed(*arguments, incomplete=""):
    shell = ShellComplete(lacunet, {}, "lacunet", "_LACUNET_COMPLETE")
    found = shell.get_completions(list(arguments), incomplete)
    return [item.value for item in found]


def test_shells_can_complete_commands_and_names():
    assert completed(incomplete="re") == ["report", "reproduce"]
    assert completed("reproduce", incomplete="table-") == [
        f"table-{number}" for number in (1, 2, 4, 6)
    ]
    assert completed("reproduce", "--protocol") == ["quick", "paper", "authors"]
    assert completed("datasets", incomplete="diab") == [
        "diabetes",
        "diabetes_regression",
    ]


@pytest.mark.slow
def test_an_interrupted_process_ends_in_a_line_and_goes_on_when_started_again(tmp_path):
    command = [sys.executable, "-m", "lacunet.cli", "reproduce", "table-4"]
    options = ["--data", "digits", "--datasets", "iris", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, *options, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while " 1/18: " not in process.stderr.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("Stopped; start again to go on.")
    assert "Traceback" not in err
    again = subprocess.run(
        [*command, *options, "--methods", FIRST, "--json", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    (run,) = json.loads(again.stdout)["experiments"]
    assert run["there_before"] >= 1
    assert run["there_before"] + run["run"] == 4
