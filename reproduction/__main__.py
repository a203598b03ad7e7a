"""``python -m reproduction``."""

import click

from lacunet.cli._main import CommandGroup
from reproduction.cli._datasets import datasets
from reproduction.cli._demo import demo
from reproduction.cli._report import report
from reproduction.cli._reproduce import reproduce


@click.group(cls=CommandGroup)
def main() -> None:
    """Make the tables, figures and claims of the paper again."""


main.add_command(reproduce, "run")
main.add_command(report)
main.add_command(datasets, "data")
main.add_command(demo)

if __name__ == "__main__":
    main(prog_name="python -m reproduction")
