import errno
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from own_models import make_table, save_csv, save_model

import lacunet as package
from lacunet.cli import main
from lacunet.cli._main import lacunet
from lacunet.exceptions import LacunetError

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(lacunet.commands)
HEAVY = ("numpy", "pandas", "pyarrow", "scipy", "sklearn", "torch", "rich")
HEAVY += ("matplotlib", "sklearn.ensemble", "torch._dynamo")


@pytest.fixture
def broken(monkeypatch):
    """Make a command fail in a way of choice."""

    def fail(error):
        def callback(*_, **__):
            raise error

        monkeypatch.setattr(lacunet.commands["profile"], "callback", callback)

    return fail


def test_there_are_the_commands():
    names = {"check", "compare", "demo", "explain", "fit", "impute", "next", "predict"}
    assert set(COMMANDS) == names | {"profile"}


def test_the_script_is_the_command():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert scripts["scripts"] == {"lacunet": f"{main.__module__}:{main.__name__}"}


def loaded_by(*arguments, code):
    """Return what heavy packages a fresh interpreter has after the command."""
    program = (
        "import sys\nfrom lacunet.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        f"except SystemExit as end: assert end.code == {code}, end.code\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["fit", "-h"], 0),
        (["--version"], 0),
        (["predict", "model", "nosuch.csv"], 1),
        (["profile", "nosuch.csv"], 1),
        (["profile", __file__, "-o", __file__], 1),
    ],
)
def test_nothing_heavy_is_loaded_for_help_or_for_files_that_are_not_there(
    arguments, code
):
    assert loaded_by(*arguments, code=code) == []


def test_torch_s_compiler_is_not_loaded(tmp_path):
    table = save_csv(make_table(), tmp_path / "t.csv")
    save_model(tmp_path / "m")
    found = loaded_by("predict", str(tmp_path / "m"), str(table), code=0)
    assert "torch" in found
    assert not {"torch._dynamo", "matplotlib", "rich", "sklearn.ensemble"} & {*found}


def test_help_has_all_commands_and_version_is_that_of_the_package(call):
    assert all(name in call("--help").stdout for name in COMMANDS)
    assert call("--version").stdout == f"lacunet {package.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example_and_the_common_options(call, name):
    result = call(name, "--help")
    assert result.exit_code == 0
    assert f"  lacunet {name}" in result.stdout.partition("Examples:")[2]
    assert all(option in result.stdout for option in ("--quiet", "--json", "--debug"))
    assert max(map(len, result.stdout.splitlines())) <= 88


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["--nothing"],
        ["profile"],
        ["fit", "--nothing"],
    ],
)
def test_wrong_usage_exits_with_2(call, arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage:" in result.stderr


@pytest.mark.parametrize(
    "error",
    [
        LacunetError("Got a, but expected b."),
        ValueError("Got a, but expected b."),
        OSError("Got a, but expected b."),
        ImportError("Got a, but expected b."),
    ],
)
def test_errors_are_one_line_and_exit_with_1(call, broken, error):
    broken(error)
    result = call("profile", __file__)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "Error: Got a, but expected b.\n"


def test_long_messages_are_cut_to_three_lines(call, broken):
    broken(ValueError("a\nb\nc\nd"))
    assert call("profile", __file__).stderr == "Error: a\nb\nc\n"


def test_an_error_without_words_has_its_name(call, broken):
    broken(FileNotFoundError())
    assert call("profile", __file__).stderr == "Error: FileNotFoundError\n"


def test_errors_of_the_system_are_sentences(call, broken):
    broken(OSError(errno.ENOSPC, "No space left on device", "a.csv"))
    assert call("profile", __file__).stderr == "Error: a.csv: the disk is full.\n"
    broken(OSError("[Errno 2] Failed to open local file 'a'"))
    expected = "Error: Failed to open local file 'a'\n"
    assert call("profile", __file__).stderr == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("profile", "nosuch.csv"), "Got a table 'nosuch.csv', but there is no such"),
        (("predict", "nosuch", __file__), "Got a model 'nosuch', which is no folder"),
        (("predict", ".", __file__), "Got a model '.', which has no model.json"),
    ],
)
def test_files_that_are_not_there_are_named(call, arguments, words):
    result = call(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {words}")


def test_a_missing_package_is_named_with_what_to_do(call, broken):
    broken(ModuleNotFoundError("No module named 'rich'", name="rich"))
    result = call("profile", __file__)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "No module named 'rich'. Install what is missing with pip" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--debug", "profile", "x"], ["profile", "x", "--debug"]]
)
def test_debug_lets_the_error_through(call, broken, arguments):
    error = ValueError("a")
    broken(error)
    assert call(*arguments).exception is error


def test_bugs_are_not_hidden(call, broken):
    error = KeyError("a")
    broken(error)
    assert call("profile", __file__).exception is error


def test_a_reader_that_is_gone_is_no_error_of_ours(call, broken):
    broken(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    result = call("profile", __file__)
    assert (result.exit_code, result.output) == (141, "")


def test_an_interrupt_is_a_line_and_its_own_code(call, broken):
    broken(KeyboardInterrupt())
    result = call("profile", __file__)
    assert (result.exit_code, result.output) == (130, "Stopped.\n")


def test_an_interrupt_at_a_terminal_begins_a_line(broken, capsys, monkeypatch):
    broken(KeyboardInterrupt())
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.raises(SystemExit, match="130"):
        main(["profile", __file__])
    assert capsys.readouterr().err == "\nStopped.\n"


def test_warnings_are_shown_without_their_place(call, monkeypatch):
    def callback(**_):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("the last line is passed over", stacklevel=1)

    command = click.command(callback)
    monkeypatch.setitem(lacunet.commands, "profile", command)
    before = warnings.showwarning
    result = call("profile")
    assert result.stderr == "Warning: the last line is passed over\n"
    assert warnings.showwarning is before


def test_without_click_the_error_names_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "lacunet.cli._main")
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match=r"pip install 'lacunet\[cli\]'"):
        main([])


def completed(*arguments, incomplete=""):
    shell = ShellComplete(lacunet, {}, "lacunet", "_LACUNET_COMPLETE")
    found = shell.get_completions(list(arguments), incomplete)
    return [item.value for item in found]


def test_shells_can_complete_commands():
    assert completed(incomplete="p") == ["predict", "profile"]


@pytest.mark.parametrize("name", ["datasets", "report", "reproduce"])
def test_commands_that_moved_name_their_new_place(call, name):
    result = call(name, "table-4")
    assert result.exit_code == 2
    assert "python -m reproduction" in result.stderr
