import io

import pytest
from click.testing import CliRunner
from rich.console import Console

from lacunet.cli._main import lacunet


@pytest.fixture
def call():
    """Return the command, in this process: what it prints, and its exit code."""

    def run(*arguments, **options):
        return CliRunner().invoke(lacunet, list(map(str, arguments)), **options)

    return run


@pytest.fixture
def screen(monkeypatch):
    """Return what is written to a terminal of 100 columns."""
    stream = io.StringIO()

    def make(*, stderr):
        assert stderr
        return Console(file=stream, force_terminal=True, width=100, color_system=None)

    monkeypatch.setattr("rich.console.Console", make)
    return stream
