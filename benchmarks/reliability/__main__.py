"""`python benchmarks/reliability NAME --attempts N`: run one campaign and print its row as JSON.

With --keep the row also goes into benchmarks/results/reliability.json; `make figures` then updates
the page that shows it.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Find the campaign among the modules of this folder, and run it."""
    names = sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    parser = argparse.ArgumentParser(prog="python benchmarks/reliability", description=__doc__)
    parser.add_argument("name", choices=names)
    parser.add_argument("--attempts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the row for the docs")
    given = parser.parse_args()
    sys.path[0] = str(HERE.parent)  # not this folder, whose requests.py is not the known package
    campaign = importlib.import_module(f"reliability.{given.name}").campaign
    row = campaign(given.attempts, given.seed)
    print(json.dumps(row))
    if given.keep:
        importlib.import_module("reliability._kept").keep(given.name, row)


if __name__ == "__main__":
    main()
