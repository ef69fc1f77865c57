"""A million points against k-means on a sample, and ten million from a file: time and memory.

    python benchmarks/large_tables.py

The file, 320 MB, stands in a temporary folder while it is needed.
"""

import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

import coterie

MILLION = 1_000_000
SAMPLE = 3_000
LARGEST_K = 20
CHUNK = 500_000
REPEATS = 3


def main() -> None:
    """Print both measurements."""
    warnings.simplefilter("ignore")
    in_memory()
    from_a_file()


def in_memory() -> None:
    """A million points, and k-means on a sample of them, alternating."""
    points, _ = make_blobs(MILLION, centers=6, cluster_std=0.8, random_state=0)
    sample = points[np.random.default_rng(0).permutation(MILLION)[:SAMPLE]]
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(seconds(lambda: coterie.AMCP(random_state=0).fit(points)))
        theirs.append(seconds(lambda: k_means_and_silhouette(sample)))
    print(
        f"1,000,000 x 2 points: {np.median(ours):.2f} s; k-means + silhouette (k = 2..{LARGEST_K})"
        f" on {SAMPLE:,} of them: {np.median(theirs):.2f} s"
    )


def from_a_file() -> None:
    """Ten million points, and the most memory that this process ever had."""
    with tempfile.TemporaryDirectory() as folder:
        table = written(Path(folder) / "table.npy")
        taken = seconds(lambda: coterie.AMCP(random_state=0).fit(table))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"10,000,000 x 8 float32 from a mapped file: {taken:.1f} s, at most {peak:.2f} GiB in all"
    )


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def k_means_and_silhouette(points: NDArray) -> int:
    """The number of clusters of the best silhouette."""

    def score(k: int) -> float:
        labels = KMeans(k, n_init=10, random_state=0).fit_predict(points)
        return float(silhouette_score(points, labels))

    return max(range(2, LARGEST_K + 1), key=score)


def written(path: Path) -> NDArray[np.float32]:
    """A mapped table of five blobs in eight columns."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=6, size=(5, 8))
    table = np.lib.format.open_memmap(path, "w+", np.float32, (10 * MILLION, 8))
    for start in range(0, len(table), CHUNK):
        noise = rng.normal(size=(CHUNK, 8))
        table[start : start + CHUNK] = centres[np.arange(CHUNK) % len(centres)] + noise
    table.flush()
    del table
    return np.load(path, mmap_mode="r")


if __name__ == "__main__":
    main()
