"""The public labelled sets of `clustering_suite.npz`, for evaluation only."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = "clustering_suite.npz"
POINTS, LABELS = "__X", "__y"
NOISE_IN_FILE = 0  # clusters are 1..k there; everywhere else noise is -1

TABLES = "tables"
# The kind of a set by the prefix of its name; the first match counts.
KINDS = {
    "sipu_a": "mixtures",
    "sipu_birch": "mixtures",
    "sipu_s1": "mixtures",
    "sipu_s3": "mixtures",
    "g2mg": "mixtures",
    "h2mg": "mixtures",
    "uci": TABLES,
}
SHAPES = "2-D shapes"  # the rest, two of them in three columns


@dataclass(frozen=True)
class SuiteSet:
    """A labelled set: points (n, D), labels (n,) 0..k-1, and -1 for noise."""

    name: str
    kind: str
    points: NDArray[np.float32]
    labels: NDArray[np.intp]

    @property
    def n_clusters(self) -> int:
        """The true k, without noise."""
        return int(self.labels.max()) + 1


def read_suite(path: Path | str, *, k_max: int | None = None) -> tuple[SuiteSet, ...]:
    """All sets of the file with at most k_max clusters, sorted by name."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}")
    with np.load(path) as file:
        names = sorted(name.removesuffix(POINTS) for name in file.files if name.endswith(POINTS))
        sets = [_read(name, file[name + POINTS], file[name + LABELS]) for name in names]
    if not sets:
        raise ValueError(f"{path} contains no sets")
    return tuple(each for each in sets if k_max is None or each.n_clusters <= k_max)


def numbered(labels: NDArray, *, clustered: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Renumber labels (n,) as 0..k-1, with -1 where clustered (n,) is False."""
    numbers = np.full(len(labels), -1, dtype=np.intp)
    numbers[clustered] = np.unique(labels[clustered], return_inverse=True)[1]
    return numbers


def _read(name: str, points: NDArray, labels: NDArray) -> SuiteSet:
    kind = next((kind for start, kind in KINDS.items() if name.startswith(start)), SHAPES)
    return SuiteSet(name, kind, points, numbered(labels, clustered=labels != NOISE_IN_FILE))
