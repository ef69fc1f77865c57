"""Seconds of a set of images: AMCP against DAC, on the same sets in the same run.

    COTERIE_DATA=... python benchmarks/image_speed.py mnist amcp=A.safetensors \\
        dac-mlf=B.safetensors --sizes 1000 5000 --device cuda

Images are encoded beforehand: that takes as long for all. Each set is clustered by every system in
turn, as its network answers; the first set warms up. Ratios are to the system named first.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from coterie.data.pools import open_pool
from image_sets import EVERY, UNSEEN, Family, Trained, drawn_sets


def timed(trained: Trained, rows: np.ndarray, device: str) -> tuple[float, int]:
    """The seconds of one set, and how many clusters were found."""
    points = trained.points(rows)
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    labels = trained.labels(points, "network", device)
    return time.perf_counter() - began, len(np.unique(labels))


def main() -> None:
    """Measure and print one line for each size and system."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=sorted(UNSEEN))
    parser.add_argument("weights", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = arguments.device
    if device == "cpu":
        torch.set_num_threads(1)
    pool = open_pool(UNSEEN[arguments.data])
    pairs = (pair.partition("=") for pair in arguments.weights)
    systems = {name: Trained.of(Path(file), pool, device) for name, _, file in pairs}
    for size in arguments.sizes:
        sets = drawn_sets(pool, Family(size, EVERY), arguments.sets + 1)
        found = {
            name: [timed(each, drawn.rows, device) for drawn in sets][1:]
            for name, each in systems.items()
        }
        medians = {name: float(np.median([pair[0] for pair in of])) for name, of in found.items()}
        first = next(iter(medians.values()))
        for name, median in medians.items():
            line = {
                "data": arguments.data,
                "images": size,
                "system": name,
                "seconds": round(median, 5),
                "of_first": round(median / first, 3),
                "clusters": float(np.mean([k for _, k in found[name]])),
                "sets": arguments.sets,
                "device": torch.cuda.get_device_name() if device == "cuda" else "cpu, one thread",
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
