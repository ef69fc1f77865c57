"""How much clusters of images may leak into each other: scores of each limit on sets of a pool.

    COTERIE_DATA=... python benchmarks/leakage.py runs/digits.safetensors emnist-letters \
        --classes ABDEFGHNQRTabdefghnqrt

The pool's classes must be as new to the encoder as those that it is meant for, so that a limit
that suits them can be expected to suit others (`most_leakage` of `ItemSettings`). Half of the sets
have five classes, half any number up to five.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from coterie.data.pools import open_pool
from coterie.training.set_scores import draw_set
from image_sets import Trained, measured

MOST_CLASSES = 5


def main() -> None:
    """Draw the sets, measure every limit, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("pool")
    parser.add_argument("--classes", help="names of one character each; all by default")
    parser.add_argument("--limits", type=float, nargs="+", default=[0.2, 0.25, 0.3, 0.35, 0.4])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--images", type=int, default=1000, help="in a set")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pool = open_pool(arguments.pool)
    if arguments.classes:
        kept = np.isin(pool.class_names, list(arguments.classes))
        pool = pool._replace(
            images=pool.images[np.repeat(kept, pool.counts)],
            counts=pool.counts[kept],
            class_names=tuple(np.array(pool.class_names)[kept]),
            groups=pool.groups[kept],
        )
    random = np.random.default_rng(0)
    ks = [MOST_CLASSES if i % 2 else int(random.integers(1, 6)) for i in range(arguments.sets)]
    sets = [draw_set(pool, arguments.images, k, random) for k in ks]
    trained = Trained.of(arguments.weights, pool, "cpu")
    for limit in arguments.limits:
        trained.system.config = replace(trained.system.config, most_leakage=limit)
        found = measured(sets, trained, lambda points, _: trained.labels(points, "em", "cpu"))
        means = {name: round(each["mean"], 3) for name, each in found["metrics"].items()}
        print(limit, means, f"k exact {found['k_exact']:.2f}", flush=True)


if __name__ == "__main__":
    main()
