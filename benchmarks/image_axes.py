"""On how many axes k-means, given k, finds the classes of images: vectors of one length or not.

    COTERIE_DATA=... python benchmarks/image_axes.py cifar10 \\
        src/coterie/weights/amcp-cifar10.safetensors

Sets of held-out images of classes that the set network has seen, and of unseen ones. The vectors
are those of the weights' encoder, on the principal axes of each set; how the network reads them can
be chosen on the seen classes alone.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from coterie.data.pools import open_pool
from coterie.frames.images import fit_axes
from coterie.functional.principal import on_axes
from coterie.training.set_scores import score
from image_sets import ANY, EVERY, TOLD, Family, Trained, drawn_sets, told_k
from train_images import SCORED

N_IMAGES, N_SETS = 1000, 20


def main() -> None:
    """Print the mean accuracy for each number of axes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", choices=sorted(SCORED))
    parser.add_argument("weights", type=Path)
    parser.add_argument("--axes", type=int, nargs="+", default=[4, 6, 8, 12, 16, 24])
    parser.add_argument("--sets", type=int, default=N_SETS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for classes, name in SCORED[arguments.data].items():
        pool = open_pool(name)
        trained = Trained.of(arguments.weights, pool, "cpu")
        for kind in (EVERY, ANY):
            sets = drawn_sets(pool, Family(N_IMAGES, kind), arguments.sets)
            print(f"{classes}, {kind}: axes, ACC, ACC of vectors of one length")
            for n_axes in arguments.axes:
                found = [accuracy(trained, sets, n_axes, spherical) for spherical in (False, True)]
                print(f"{n_axes:3} {found[0]:.3f} {found[1]:.3f}", flush=True)


def accuracy(trained: Trained, sets: list, n_axes: int, spherical: bool) -> float:
    """The mean accuracy of k-means on so many axes of each set."""
    scores = []
    for each in sets:
        vectors = trained.vectors[each.rows]
        axes = torch.from_numpy(fit_axes(vectors, n_axes))
        points = on_axes(torch.from_numpy(vectors), axes, spherical=spherical).numpy()
        labels = told_k(points, len(np.unique(each.truth)), TOLD[0])
        scores.append(score(each.truth, labels)["acc"])
    return float(np.mean(scores))


if __name__ == "__main__":
    main()
