"""Omniglot: each of the 20 evaluation alphabets as one set, its number of characters not told.

    COTERIE_DATA=... python benchmarks/omniglot.py
    COTERIE_DATA=... python benchmarks/omniglot.py --held-out --weights STUDY.safetensors

NMI, ACC and the error of k of all alphabets, beside the figures of the DAC paper (Tables 3, 4, 8)
and of MCL, with the batch statistics of each alphabet and with those of training, and for every way
of choosing anchors. With --held-out it is the background alphabets that the network of the study
(`train_omniglot.py --study`) has not seen: on these, settings are chosen.
"""

import argparse
import json
import shlex
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench.machine import Stopwatch, describe_machine
from bench.omniglot_printed import MCL_K_ERRORS, PAPER_K_ERRORS, PRINTED
from coterie import DAC
from coterie.data.pools import ImagePool, open_pool
from coterie.functional.spherical import spherical_kmeans
from coterie.metrics import accuracy, k_error, nmi
from coterie.training.episode_recipes import HELD_OUT_ALPHABETS

RESULTS = Path(__file__).parent / "results"
METRICS = ("nmi", "acc", "k_error", "seconds")
DEFAULT, TRAINED = "default", "statistics of training"
# By the arguments of the estimator.
WAYS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    TRAINED: {"own_statistics": False},
    "one run, as in the paper": {"n_restarts": 1},
    "one run from promised anchors": {"anchor": "promise", "n_restarts": 1},
    "as the network says": {"ending": "network"},
}
TOLD = "k-means told k"


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="dac-omniglot")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ways", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--out", type=Path, help="default: results/omniglot.json")
    return parser.parse_args()


def measure(
    cluster: Callable[[NDArray, int], NDArray], pool: ImagePool, seed: int
) -> dict[str, dict[str, float]]:
    """The scores of a way to cluster on every alphabet of a pool."""
    scores = {}
    for name in pool.group_names:
        alphabet = pool.only((name,))
        images, truth = alphabet.images[:, 0], alphabet.labels
        order = np.random.RandomState(seed).permutation(len(truth))
        began = time.perf_counter()
        labels = cluster(images[order], seed)
        took = time.perf_counter() - began
        scores[name] = {
            "characters": len(alphabet.counts),
            "nmi": nmi(truth[order], labels),
            "acc": accuracy(truth[order], labels),
            "k_error": k_error(truth[order], labels),
            "seconds": took,
        }
    return scores


def by_estimator(weights: str, arguments: dict[str, Any]) -> Callable[[NDArray, int], NDArray]:
    """Labels (n,) of images (n, H, W) from a seed."""

    def cluster(images: NDArray, seed: int) -> NDArray:
        return DAC(weights, random_state=seed, **arguments).fit_predict(images)

    return cluster


def told_k(weights: str, counts: dict[int, int]) -> Callable[[NDArray, int], NDArray]:
    """Spherical k-means on the vectors of the encoder, of the true number of clusters."""

    def cluster(images: NDArray, seed: int) -> NDArray:
        model = DAC(weights, random_state=seed).fit(images)
        rows = (images / 255).reshape(len(images), -1)
        vectors = torch.from_numpy(model.fitted_.frame(rows))
        generator = torch.Generator().manual_seed(seed)
        return spherical_kmeans(vectors, counts[len(images)], generator).labels.numpy()

    return cluster


def averaged(runs: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """The mean over the seeds for each alphabet, and over all of them."""
    alphabets = {
        name: {key: fmean(run[name][key] for run in runs) for key in runs[0][name]}
        for name in runs[0]
    }
    mean = {key: fmean(each[key] for each in alphabets.values()) for key in METRICS}
    return {"seeds": len(runs), "mean": mean, "alphabets": alphabets}


def show(results: dict[str, Any], held_out: bool) -> None:
    """Print all alphabets of the default beside the printed errors of k, then all means."""
    first = next(iter(results))
    print(f"\n{first}: {'characters':>41} {'NMI':>6} {'ACC':>6} {'k off':>6} DAC MCL (printed)")
    printed = zip(PAPER_K_ERRORS, MCL_K_ERRORS, strict=True)
    for name, each in results[first]["alphabets"].items():
        beside = "" if held_out else "{:>4} {:>3}".format(*next(printed))
        print(
            f"  {name:40} {each['characters']:>8.0f} {each['nmi']:6.3f} {each['acc']:6.3f}"
            f" {each['k_error']:6.1f} {beside}"
        )
    print(f"\n{'mean':44} {'NMI':>6} {'ACC':>6} {'k off':>6} {'seconds':>8}")
    rows = {way: found["mean"] for way, found in results.items()}
    for way, mean in {**rows, **({} if held_out else PRINTED)}.items():
        cells = " ".join(f"{mean[key]:6.3f}" if key in mean else "      " for key in METRICS)
        print(f"  {way:42} {cells}")


def main() -> None:
    """Measure, print and store."""
    arguments = read_arguments()
    warnings.simplefilter("ignore", UserWarning)
    torch.set_num_threads(1)
    stopwatch = Stopwatch()
    if arguments.held_out:
        pool = open_pool("omniglot-background").only(HELD_OUT_ALPHABETS)
    else:
        pool = open_pool("omniglot-evaluation")
    # The alphabets of so many drawings, all of which have the same number of characters.
    counts = {20 * k: k for k in range(1, 100)}
    ways = {way: by_estimator(arguments.weights, given) for way, given in WAYS.items()}
    ways[TOLD] = told_k(arguments.weights, counts)
    results: dict[str, Any] = {}
    for way in arguments.ways or ways:
        results[way] = averaged([measure(ways[way], pool, seed) for seed in range(arguments.seeds)])
        print(
            way, {key: round(value, 4) for key, value in results[way]["mean"].items()}, flush=True
        )
    show(results, arguments.held_out)
    name = "omniglot_held_out.json" if arguments.held_out else "omniglot.json"
    target = arguments.out or RESULTS / name
    kept = {
        "command": shlex.join(["python", "benchmarks/omniglot.py", *sys.argv[1:]]),
        "weights": Path(arguments.weights).stem,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {**describe_machine(), "others_cpu_share": stopwatch.others_share()},
        "ways": results,
        "printed": {} if arguments.held_out else PRINTED,
    }
    target.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
