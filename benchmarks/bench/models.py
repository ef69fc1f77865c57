"""Access of the benchmarks below the public estimators: networks, their loop, and endings.

Everything else in this package uses `clusterer`, the public estimator for given weights.
"""

import hashlib
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import coterie
from coterie.data.batch import SetBatch
from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.registry import clusterer
from coterie.inference.config import InferenceConfig
from coterie.inference.endings import EndingName, choose_ending
from coterie.inference.engine import cluster_points
from coterie.inference.loop import find_clusters
from coterie.inference.result import Clustering
from coterie.inference.samples import draw_samples
from coterie.mixtures.consolidate import consolidate
from coterie.systems.protocol import PointWise, Sequential, State, claimed_labels
from coterie.weights.catalogue import find, open_model
from coterie.weights.format import load_card

# What determines the final clusters: the network, EM over the clusters it found (AMCP*), or
# consolidation, which may also change their number.
Ending = Literal["network", "star", "consolidated"]
CALLED: dict[Ending, str] = {
    "network": "as the network says",
    "star": "re-estimated",
    "consolidated": "consolidated",
}
_ENDINGS: dict[Ending, EndingName] = {
    "network": "network",
    "star": "em",
    "consolidated": "consolidate",
}


class Network(NamedTuple):
    """A network and the information on its card."""

    system: Sequential
    kind: str
    columns: int
    width: int


def open_network(weights: str, device: str = "cpu") -> Network:
    """The network of a shipped model or a weights file."""
    system, card = open_model(weights, device)
    if not isinstance(system, Sequential):
        raise ValueError(f"{weights} is of the system {card.system!r}, which has no loop to time")
    return Network(system, card.system, card.traits.columns, card.settings["width"])


def estimator(weights: str | Path, ending: Ending, **options: Any) -> AmortizedClusterer:
    """The estimator of some weights with an ending."""
    return clusterer(weights, ending=_ENDINGS[ending], **options)


def digest_of_weights(weights: str | Path) -> str:
    """What the answers of some weights depend on: the release, and the bytes of the file."""
    digest = hashlib.sha256(find(weights).read_bytes()).hexdigest()
    return f"coterie {coterie.__version__}, weights {digest}"


def has_density(weights: str | Path) -> bool:
    """Whether the clusters of some weights have a density that decides how many there are."""
    return load_card(find(weights)).traits.density in ("gaussian", "maf")


def has_own_likelihood(weights: str | Path) -> bool:
    """Whether the clusters of some weights have a density that only their network knows."""
    return load_card(find(weights)).traits.density not in (None, "gaussian")


def scales_columns(weights: str | Path) -> bool:
    """Whether a model scales the columns of a table itself."""
    return load_card(find(weights)).traits.frame != "plain"


def cluster_with(system: nn.Module, points: NDArray[np.float32], ending: Ending) -> Clustering:
    """Cluster points (n, D) as an estimator does, with a network that is already in memory."""
    network = cast(Sequential, system)
    config = InferenceConfig(choose_ending(_ENDINGS[ending], network.traits))
    random_state = np.random.RandomState(0)  # only sets larger than the context are sampled
    return cluster_points(network, points, config, random_state).clustering


def run_loop(system: Sequential, batch: SetBatch, *, record: bool = True) -> State:
    """Run the network's steps on a batch; record: whether a GPU may replay them."""
    return find_clusters(system, batch, accelerate=record)


def seated_labels(
    weights: str,
    points: NDArray[np.float32],
    n_samples: int,
    device: str = "cpu",
    **changes: Any,
) -> NDArray[np.intp]:
    """The most probable of n_samples draws of a point-wise network (n,), as they were drawn.

    Changes replace settings of the network.
    """
    system, _ = open_model(weights, device, **changes)
    if not isinstance(system, PointWise):
        raise ValueError(f"weights {weights!r} do not seat one point after another")
    batch = SetBatch.single(torch.from_numpy(points).to(device))
    generator = torch.Generator(device).manual_seed(0)
    labels, log_probabilities = draw_samples(system, batch, n_samples, generator)
    best: NDArray[np.intp] = labels[log_probabilities.argmax()].cpu().numpy()
    return best


def loop_labels(state: State) -> NDArray[np.intp]:
    """The clusters found by the steps, (B, N); points left over are -1."""
    labels: NDArray[np.intp] = claimed_labels(state.commits).cpu().numpy()
    return labels


def consolidated_labels(
    system: Sequential, points: NDArray[np.float32], state: State
) -> NDArray[np.intp]:
    """The labels (n,) of points (n, D) after consolidation of the loop's clusters."""
    commits = state.with_points()
    claimed = claimed_labels(commits)[0].cpu().numpy()
    scale = system.traits.cluster_scale
    fit = consolidate(points, claimed, len(commits), cluster_scale=scale)
    labels: NDArray[np.intp] = fit.responsibilities.argmax(0)
    return labels
