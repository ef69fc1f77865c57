"""Sets of images of classes that no training has seen (AMCP, appendix C.1), k not told.

    COTERIE_DATA=... python benchmarks/image_sets.py mnist amcp=runs/amcp-mnist/weights.safetensors
    COTERIE_DATA=... python benchmarks/image_sets.py cifar10 amcp=A.safetensors ncp=B.safetensors \\
        --sizes 1000 5000 --sets 1000 --device cuda

Each weights file is measured three times: as its network answers, after its clusters are updated in
the light of each other (marked by a star, as the paper's AMCP*), and so with k told. K-means and a
mixture of Gaussians that are told k cluster the same vectors of the first file, and so does k-means
with the k of the largest silhouette, which is never 1. All methods have the same sets.
A method that is measured again replaces its former row in results/image_sets.json. The time of a
set is that of clustering its vectors; to encode its images takes as long for all methods, and is
given apart.
"""

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from bench.machine import Stopwatch, describe_machine
from bench.merged import merge
from coterie.data.pools import ImagePool, open_pool
from coterie.encoders.items import EncodedItems
from coterie.frames.images import fit_axes
from coterie.functional.principal import on_axes
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.endings import EndingName, choose_ending
from coterie.inference.engine import cluster_points
from coterie.training.set_scores import DrawnSet, draw_set, score
from coterie.weights.format import load_card, load_system

UNSEEN = {"mnist": "mnist-odd", "cifar10": "cifar10-odd", "tinyimagenet": "tinyimagenet-last"}
RESULTS = Path(__file__).parent / "results" / "image_sets.json"
TOLD_K = " told k"
TOLD = (f"k-means{TOLD_K}", f"mixture{TOLD_K}")
UNTOLD = "k-means, k by silhouette"
MOST_K, JUDGED_ROWS = 8, 500  # tried, and on which a silhouette is computed
EVERY, ANY = "all classes", "any number of classes"


class Family(NamedTuple):
    """Sets of one size, of all unseen classes or of any number of them."""

    n_images: int
    kind: str

    @property
    def name(self) -> str:
        return f"N = {self.n_images}, {self.kind}"


def drawn_sets(pool: ImagePool, family: Family, n_sets: int) -> list[DrawnSet]:
    """The sets of a family, the same for every method."""
    random = np.random.default_rng(family.n_images + (family.kind == ANY))
    most = len(pool.counts)
    ks = [
        most if family.kind == EVERY else int(random.integers(1, most + 1)) for _ in range(n_sets)
    ]
    return [draw_set(pool, family.n_images, k, random) for k in ks]


@dataclass(frozen=True)
class Trained:
    """A trained system, and its vectors (n, C) of all images of a pool."""

    system: Any
    vectors: NDArray[np.float32]
    seconds_per_image: float
    context_size: int

    @classmethod
    def of(cls, weights: Path, pool: ImagePool, device: str) -> "Trained":
        """Read the weights and encode the pool, once for all sets: each image is encoded alone."""
        system, card = load_system(weights)
        system = system.to(device)
        items = EncodedItems(_Floats(pool.images), system.item_encoder, device)
        items[:64]  # the first call prepares the device
        began = time.perf_counter()
        vectors = items[:]
        took = (time.perf_counter() - began) / len(vectors)
        return cls(system, vectors, took, card.context_size)

    def points(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """What the set network reads of some images: (n, D)."""
        vectors = self.vectors[rows]
        if not self.system.n_axes:
            return vectors
        axes = torch.from_numpy(fit_axes(vectors, self.system.n_axes))
        return on_axes(torch.from_numpy(vectors), axes).numpy()

    def labels(
        self,
        points: NDArray[np.float32],
        ending: EndingName,
        device: str,
        n_clusters: int | None = None,
    ) -> NDArray:
        """The clusters of a set's points, so many of them where that is told."""
        traits = self.system.traits
        config = InferenceConfig(
            ending=choose_ending(ending, traits),
            n_restarts=traits.restarts,
            context_size=self.context_size,
            device=device,
            constraints=Constraints(at_least=n_clusters or 1, at_most=n_clusters),
        )
        found = cluster_points(self.system, points, config, np.random.RandomState(0))
        return found.clustering.labels


@dataclass(frozen=True)
class _Floats:
    """Images (n, C, H, W) of 8 bits as numbers in [0, 1], on access."""

    images: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        return (self.images[rows] / 255).astype(np.float32)


def told_k(points: NDArray, k: int, name: str) -> NDArray:
    """The clusters of a method that is told their number."""
    if name == TOLD[0]:
        return KMeans(k, n_init=4, random_state=0).fit_predict(points)
    return GaussianMixture(k, covariance_type="diag", random_state=0, reg_covar=1e-4).fit_predict(
        points
    )


def untold(points: NDArray) -> NDArray:
    """The clusters of k-means, k by the mean silhouette."""
    found = [KMeans(k, n_init=2, random_state=0).fit_predict(points) for k in range(2, MOST_K + 1)]
    size = min(JUDGED_ROWS, len(points))
    return max(
        found,
        key=lambda each: silhouette_score(points, each, sample_size=size, random_state=0),
    )


def measured(
    sets: list[DrawnSet],
    trained: Trained,
    cluster: Callable[[NDArray, DrawnSet], NDArray],
    jobs: int = 1,
) -> dict[str, Any]:
    """Mean scores with their standard errors, and the median seconds of a set."""
    one = delayed(_one)
    found = Parallel(n_jobs=jobs)(one(trained.points(each.rows), each, cluster) for each in sets)
    scores, seconds = zip(*found, strict=True)
    metrics = {
        key: {
            "mean": round(float(np.mean([one[key] for one in scores])), 5),
            "standard_error": round(
                float(np.std([one[key] for one in scores])) / len(sets) ** 0.5, 5
            ),
        }
        for key in scores[0]
    }
    exact = float(np.mean([one["k_error"] == 0 for one in scores]))
    return {
        "sets": len(sets),
        "metrics": metrics,
        "k_exact": round(exact, 4),
        "seconds_median": round(float(np.median(seconds)), 5),
    }


def _one(
    points: NDArray, drawn: DrawnSet, cluster: Callable[[NDArray, DrawnSet], NDArray]
) -> tuple[dict[str, float], float]:
    """The scores of one set, and the seconds of its clusters."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    labels = cluster(points, drawn)
    return score(drawn.truth, labels), time.perf_counter() - began


def rows_of(
    name: str,
    weights: Path,
    families: dict[str, list[DrawnSet]],
    trained: Trained,
    device: str,
    jobs: int,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows for the network's own answer, and for the updated clusters, also with k told."""
    card = load_card(weights)
    endings: dict[str, tuple[EndingName, bool]] = {
        name: ("network", False),
        f"{name}*": ("em", False),
        f"{name}*{TOLD_K}": ("em", True),
    }
    for called, (ending, told) in endings.items():
        cluster = partial(_as_trained, trained, ending, device, told)
        yield (
            called,
            {
                "trained_on": card.trained_on,
                "steps": card.provenance.get("recipe", {}).get("training", {}).get("steps"),
                "parameters": sum(each.numel() for each in trained.system.parameters()),
                "encode_seconds_per_image": trained.seconds_per_image,
                "families": {
                    family: measured(sets, trained, cluster, jobs)
                    for family, sets in families.items()
                },
            },
        )


def _as_trained(
    trained: Trained, ending: EndingName, device: str, told: bool, points: NDArray, drawn: DrawnSet
) -> NDArray:
    k = len(np.unique(drawn.truth)) if told else None
    return trained.labels(points, ending, device, k)


def _as_told(name: str, points: NDArray, drawn: DrawnSet) -> NDArray:
    if name == UNTOLD:
        return untold(points)
    return told_k(points, len(np.unique(drawn.truth)), name)


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=sorted(UNSEEN))
    parser.add_argument("weights", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rivals-sets", type=int, help="only so many for those told k")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> None:
    """Measure, print and store."""
    arguments = read_arguments()
    warnings.simplefilter("ignore", UserWarning)
    if arguments.device == "cpu":
        torch.set_num_threads(arguments.jobs)
    stopwatch, pool = Stopwatch(), open_pool(UNSEEN[arguments.data])
    kinds = [Family(size, kind) for size in arguments.sizes for kind in (EVERY, ANY)]
    families = {each.name: drawn_sets(pool, each, arguments.sets) for each in kinds}
    command = shlex.join(["python", "benchmarks/image_sets.py", *sys.argv[1:]])

    def keep(name: str, row: dict[str, Any]) -> None:
        about = {
            "command": command,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "device": _device_name(arguments.device),
            "machine": {**describe_machine(), "others_cpu_share": stopwatch.others_share()},
        }
        merge(arguments.out, (arguments.data, name), {**row, **about})
        means = {family: _means(each) for family, each in row["families"].items()}
        print(name, means, flush=True)

    for number, pair in enumerate(arguments.weights):
        name, _, file = pair.partition("=")
        trained = Trained.of(Path(file), pool, arguments.device)
        jobs = arguments.jobs
        for called, row in rows_of(name, Path(file), families, trained, arguments.device, jobs):
            keep(called, row)
        for told in (*TOLD, UNTOLD) if number == 0 else ():
            cluster = partial(_as_told, told)
            found = {
                family: measured(sets[: arguments.rivals_sets], trained, cluster, jobs)
                for family, sets in families.items()
            }
            keep(told, {"trained_on": f"the vectors of {name}", "families": found})


def _means(found: dict[str, Any]) -> dict[str, float]:
    return {key: round(each["mean"], 4) for key, each in found["metrics"].items()}


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else "CPU, one thread"


if __name__ == "__main__":
    main()
