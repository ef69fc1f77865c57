"""The studies of AMCP's appendix C.2 on images: one setting varied at a time, on one budget.

    COTERIE_DATA=... python benchmarks/image_studies.py em_steps --data mnist --steps 2000
    COTERIE_DATA=... python benchmarks/image_studies.py classes --data mnist --only 1 3 5
    COTERIE_DATA=... python benchmarks/image_studies.py systems --data cifar10 --minutes 8
    COTERIE_DATA=... python benchmarks/image_studies.py systems --encoder runs/encoder.safetensors

With --encoder all variants share that one, which stays as it is; without, each trains its own.
Each variant is trained in a folder of its own under --out; a variant that was stopped goes on, one
that is finished is only measured. Its scores on seen and unseen classes along the way stay in
OUT/STUDY/DATA/VARIANT/scores.jsonl: the curves of Fig. 1. The update of earlier clusters needs no
training: every variant is measured without and with it. Results go to results/image_studies.json.
"""

import argparse
import json
import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.merged import merge
from bench.pieces import LOG, SCORES, add_options, changed, say, train_in_pieces
from coterie.data.pools import open_pool
from coterie.functional.mixing import E_STEPS
from coterie.training.image_set_recipes import (
    DATA,
    SET_NETWORKS,
    image_set_recipe,
    with_encoder,
)
from coterie.training.recipe import Recipe
from coterie.training.set_scores import SetScores, cluster_images_of, draw_set, score
from coterie.training.trainer import WEIGHTS
from coterie.weights.format import load_system
from train_images import SCORED

RESULTS = Path(__file__).parent / "results" / "image_studies.json"
CLASSES = {"mnist": range(1, 6), "cifar10": range(1, 6), "tinyimagenet": range(20, 101, 20)}


def variants(study: str, data: str) -> dict[str, dict[str, Any]]:
    """The arguments of `image_set_recipe` by the name of a variant."""
    if study == "em_steps":
        return {str(steps): {"settings": {"em_steps": steps}} for steps in range(1, 6)}
    if study == "e_step":
        return {kind: {"settings": {"e_step": kind}} for kind in E_STEPS}
    if study == "coupling":
        return {name: {"settings": {"coupling": name == "with"}} for name in ("without", "with")}
    if study == "classes":
        return {str(number): {"classes": number} for number in CLASSES[data]}
    return {method: {"method": method} for method in SET_NETWORKS}


STUDIES = ("em_steps", "e_step", "coupling", "classes", "systems")


def measured(weights: Path, data: str, n_sets: int, n_images: int, device: str) -> dict[str, float]:
    """Mean scores of unseen classes without and with an update, and the seconds of a set."""
    system, card = load_system(weights)
    cluster = partial(cluster_images_of, system.to(device), context_size=card.context_size)
    pool, random = open_pool(SCORED[data]["unseen"]), np.random.default_rng(1)
    own, updated, seconds = [], [], []
    for _ in range(n_sets):
        drawn = draw_set(pool, n_images, len(pool.counts), random)
        images = pool.images[drawn.rows]
        began = time.perf_counter()
        own.append(score(drawn.truth, cluster(images, ending="network")))
        seconds.append(time.perf_counter() - began)
        updated.append(score(drawn.truth, cluster(images, ending="em")))
    return {
        "acc": round(float(np.mean([each["acc"] for each in own])), 4),
        "acc_updated": round(float(np.mean([each["acc"] for each in updated])), 4),
        "k_error": round(float(np.mean([each["k_error"] for each in updated])), 3),
        "seconds": round(float(np.median(seconds)), 4),
    }


def train_variant(recipe: Recipe, data: str, arguments: argparse.Namespace) -> bool:
    """Train a variant as far as the minutes reach; whether it is finished."""
    if (arguments.out / WEIGHTS).exists():
        return True
    scores = SetScores(
        arguments.out / SCORES,
        {kind: open_pool(name) for kind, name in SCORED[data].items()},
        every=arguments.score_every,
        n_images=arguments.images,
        k=len(open_pool(SCORED[data]["unseen"]).counts),
        say=say,
    )
    return train_in_pieces(recipe, arguments, [scores])


def lines(path: Path) -> list[dict[str, Any]]:
    """The entries of a log."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def seconds_of(log: list[dict[str, Any]]) -> float:
    """How long a training took in all its pieces, each of which counts from zero."""
    ends = [
        before["seconds"] for before, after in pairwise(log) if after["seconds"] < before["seconds"]
    ]
    return float(sum(ends) + log[-1]["seconds"])


def main() -> None:
    """Train and measure the variants of a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--data", choices=sorted(DATA), default="mnist")
    parser.add_argument("--only", nargs="*", metavar="VARIANT")
    parser.add_argument("--encoder", help="weights whose encoder of images all variants share")
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--images", type=int, default=1000, help="in a set")
    parser.add_argument("--to", type=Path, default=RESULTS, metavar="FILE")
    add_options(parser)
    arguments = parser.parse_args()
    root = arguments.out / arguments.study / arguments.data
    device = "cuda" if arguments.device != "cpu" and torch.cuda.is_available() else "cpu"
    command = shlex.join(["python", "benchmarks/image_studies.py", *sys.argv[1:]])
    for name, changes in variants(arguments.study, arguments.data).items():
        if arguments.only and name not in arguments.only:
            continue
        arguments.out = root / name
        recipe = image_set_recipe(arguments.data, **changes)
        if arguments.encoder:
            recipe = with_encoder(recipe, arguments.encoder)
        recipe = changed(replace(recipe, name=f"{arguments.study}-{name}"), arguments)
        if not train_variant(recipe, arguments.data, arguments):
            say(f"{name}: not finished, the same command goes on")
            continue
        row = measured(
            arguments.out / WEIGHTS, arguments.data, arguments.sets, arguments.images, device
        )
        log = lines(arguments.out / LOG)
        row |= {
            "step": log[-1]["step"],
            "training_seconds": seconds_of(log),
            "curve": [
                {
                    "step": each["step"],
                    **{kind: each[kind]["acc"] for kind in SCORED[arguments.data]},
                }
                for each in lines(arguments.out / SCORES)
            ],
        }
        merge(arguments.to, (arguments.study, arguments.data, name), {**row, "command": command})
        say(f"{name}: ACC {row['acc']}, updated {row['acc_updated']}")


if __name__ == "__main__":
    main()
