"""All figures of the answers that a model of what is missing gives.

``LACUNET_DATA=FOLDER python -m benchmarks.answers`` measures what committed results
lack, and prints the summary of each part. The parts can be run by themselves, too:

- intervals: coverage and width of intervals and sets of classes, whatever is missing;
- more_missing: expectations against draws, with ever more missing at prediction;
- acquisition: scores against the number of measurements, by policy;
- imputations: coverage of intervals that are pooled over imputations;
- censored: bias and scores with values below a detection limit.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module

PARTS = ("intervals", "more_missing", "acquisition", "imputations", "censored")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parts = parser.parse_args(argv).parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"Got {sorted(unknown)}, but expected some of {PARTS}.")
    for part in parts:
        print(f"\n## {part}\n", flush=True)
        import_module(f"benchmarks.{part}").main([])


if __name__ == "__main__":
    main()
