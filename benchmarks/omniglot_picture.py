"""Draw an alphabet of Omniglot as `dac-omniglot` groups it: docs/images/omniglot.png.

    COTERIE_DATA=... python benchmarks/omniglot_picture.py [--alphabet Tengwar] [--weights NAME]

A row is a cluster; drawings that are not of the cluster's most frequent character are orange.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from coterie import DAC
from coterie.data.pools import open_pool
from coterie.metrics import accuracy, nmi
from coterie.palette import INK, PALETTE, PAPER

TARGET = Path(__file__).parent.parent / "docs" / "images" / "omniglot.png"
LONGEST = 24  # drawings of a row


def strip(images: NDArray[np.uint8], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Drawings (m, H, W) side by side in ink on paper, those that are wrong in orange."""
    paper, ink, orange = (np.array(_rgb(colour)) for colour in (PAPER, INK, PALETTE[1]))
    row = np.broadcast_to(paper, (images.shape[1], LONGEST * images.shape[2], 3)).copy()
    for number, (image, fits) in enumerate(zip(images[:LONGEST], right, strict=False)):
        share = (image / 255)[..., None]
        across = slice(number * images.shape[2], (number + 1) * images.shape[2])
        row[:, across] = (1 - share) * paper + share * (ink if fits else orange)
    return row


def _rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def draw(images: NDArray[np.uint8], truth: NDArray[np.int64], labels: NDArray[np.intp]) -> Figure:
    """All clusters, the largest first, in two columns."""
    rows = []
    for cluster in range(labels.max() + 1):
        inside = np.flatnonzero(labels == cluster)
        right = truth[inside] == np.bincount(truth[inside]).argmax()
        order = np.argsort(~right, kind="stable")
        rows.append(strip(images[inside[order]], right[order]))
    half = -(-len(rows) // 2)
    height = images.shape[1]
    figure = Figure(figsize=(13, 13 * half * height / (2.1 * LONGEST * height)), dpi=110)
    figure.set_facecolor(PAPER)
    for column in range(2):
        axes = figure.add_axes((0.5 * column + 0.01, 0.005, 0.48, 0.99))
        part = rows[column * half : (column + 1) * half]
        blank = np.broadcast_to(np.array(_rgb(PAPER)), rows[0].shape)
        part += [blank] * (half - len(part))
        axes.imshow(np.concatenate(part), interpolation="nearest", aspect="auto")
        axes.set_axis_off()
    return figure


def main() -> None:
    """Cluster, draw and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alphabet", default="Tengwar")
    parser.add_argument("--weights", default="dac-omniglot")
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UserWarning)
    pool = open_pool("omniglot-evaluation").only((arguments.alphabet,))
    images, truth = pool.images[:, 0], pool.labels
    labels = DAC(arguments.weights, random_state=0).fit_predict(images)
    draw(images, truth, labels).savefig(arguments.out)
    print(
        f"{arguments.alphabet}: {len(pool.counts)} characters, {labels.max() + 1} clusters,"
        f" NMI {nmi(truth, labels):.3f}, ACC {accuracy(truth, labels):.3f}"
    )


if __name__ == "__main__":
    main()
