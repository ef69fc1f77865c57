"""Which clusters of Omniglot are too small to be characters: `least_members` of `dac-omniglot`.

    COTERIE_DATA=... python benchmarks/omniglot_least.py [--weights NAME]

The characters of twelve background alphabets are turned by 45 degrees. The network was trained on
them in quarter turns and 15 degrees about these, so it has never seen such characters, although
nothing of the evaluation alphabets is used. The runs are those of the estimator's default; only the
smallest cluster that stays is varied.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import affine_grid, grid_sample

from coterie.data.batch import SetBatch
from coterie.data.pools import ImagePool, open_pool
from coterie.inference.restarts import most_probable
from coterie.inference.rules.directions import DirectionRule
from coterie.metrics import accuracy, nmi
from coterie.systems.protocol import claimed_labels
from coterie.weights.catalogue import find
from coterie.weights.format import load_system

ALPHABETS = (
    0,
    1,
    4,
    6,
    9,
    10,
    14,
    15,
    21,
    24,
    26,
    29,
)  # small and large, with strokes of all kinds
SIZES = range(5, 13)


def turned(images: NDArray[np.uint8]) -> torch.Tensor:
    """Images (n, 1, H, W) turned by 45 degrees, in [0, 1]."""
    half = 0.5**0.5
    turn = torch.tensor([[half, -half, 0.0], [half, half, 0.0]]).expand(len(images), -1, -1)
    pixels = torch.from_numpy(images).float() / 255
    grid = affine_grid(turn, list(pixels.shape), align_corners=False)
    return grid_sample(pixels, grid, align_corners=False)


def without_small(vectors: torch.Tensor, labels: NDArray, least: int) -> NDArray:
    """The labels after clusters of fewer than least points are dissolved, as the ending does it."""
    sizes = np.bincount(labels[labels >= 0])
    stays = sizes >= min(least, sizes.max())
    number = np.where(stays, stays.cumsum() - 1, -1)
    start = torch.from_numpy(np.where(labels >= 0, number[labels], -1))
    rule = DirectionRule.of(vectors, start, int(number.max()) + 1)
    return rule.log_probabilities(vectors).argmax(1).numpy()


@torch.no_grad()
def scores(system: torch.nn.Module, alphabet: ImagePool) -> list[tuple[float, float, int]]:
    """NMI, ACC and the error of k with its sign, for each smallest size."""
    images = turned(alphabet.images)
    vectors = system.item_encoder.adapted(images)(images)  # type: ignore[operator, union-attr]
    restarts = system.traits.restarts  # type: ignore[union-attr]
    generator = torch.Generator().manual_seed(0)
    state = most_probable(system, SetBatch.single(vectors), restarts, generator)  # type: ignore[arg-type]
    labels = claimed_labels(state.commits)[0].numpy()
    truth, answers = alphabet.labels, []
    for least in SIZES:
        found = without_small(vectors, labels, least)
        off = len(np.unique(found)) - len(alphabet.counts)
        answers.append((nmi(truth, found), accuracy(truth, found), off))
    return answers


def main() -> None:
    """Print the mean scores of every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="dac-omniglot")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    system, _ = load_system(Path(find(arguments.weights)))
    pool = open_pool("omniglot-background")
    found = np.array([scores(system, pool.only((pool.group_names[i],))) for i in ALPHABETS])
    print("least members   NMI    ACC   k off  bias of k")
    for number, least in enumerate(SIZES):
        similar, right, off = found[:, number].T
        print(
            f"{least:13} {similar.mean():.3f}  {right.mean():.3f} {np.abs(off).mean():6.2f}"
            f" {off.mean():8.2f}"
        )


if __name__ == "__main__":
    main()
