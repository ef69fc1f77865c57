"""The bounds of CHiGac's inference strategies on one and the same network.

    COTERIE_DATA=... python benchmarks/chigac_bounds.py [chigac-mog2d chigac-mnist]
        [--sets 32] [--draws 4]

`chigac_strategies.py` trains a network with each strategy; here only the inner optimisation of the
variational parameters differs. The sets are fresh ones of the network's recipe.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, cast

import torch

from bench.chigac import bounds_of_one
from bench.machine import describe_machine
from coterie.systems.chigac.steps import CHiGac
from coterie.training.presets import preset
from coterie.weights.catalogue import open_model

RESULTS = Path(__file__).parent / "results" / "chigac_bounds.json"
SHIPPED = ("chigac-mog2d", "chigac-mnist")
TEST_SEED = 2**40


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """Measure every network, print its bounds and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", nargs="*", default=SHIPPED, help="shipped models with a recipe")
    parser.add_argument("--sets", type=int, default=32)
    parser.add_argument("--draws", type=int, default=4, help="of all random numbers")
    given = parser.parse_args(arguments)
    found = {}
    for name in given.weights:
        found[name] = measure(name, given.sets, given.draws)
        for strategy, row in found[name].items():
            print(f"{name:14} {strategy:14} {row['mean']:8.2f} ± {row['standard_error']:.2f}")
    told = sys.argv[1:] if arguments is None else arguments
    kept = {
        "command": shlex.join(["python", "benchmarks/chigac_bounds.py", *told]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "n_sets": given.sets,
        "networks": found,
    }
    results.write_text(json.dumps(kept, indent=1) + "\n")


def measure(name: str, n_sets: int, n_draws: int) -> dict[str, Any]:
    """Each bound with its standard error over the draws; the sets are the same for all."""
    system = cast(CHiGac, open_model(name)[0])
    batch = preset(name).prior.sample(n_sets, torch.Generator().manual_seed(TEST_SEED))
    runs = [bounds_of_one(system, batch, seed) for seed in range(n_draws)]
    return {
        strategy: {
            "mean": fmean(run[strategy] for run in runs),
            "standard_error": stdev(run[strategy] for run in runs) / n_draws**0.5,
        }
        for strategy in runs[0]
    }


if __name__ == "__main__":
    main()
