import pytest
from click.testing import CliRunner

from lacunet.cli._main import lacunet


@pytest.fixture
def call():
    """Return the command, in this process: what it prints, and its exit code."""

    def run(*arguments, **options):
        return CliRunner().invoke(lacunet, list(map(str, arguments)), **options)

    return run
