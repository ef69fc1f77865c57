"""One set whose points are spread over processes, clustered without a sample.

Every process calls `cluster_shard` with its points. The loop completes each reduction over points
by an all-reduce (`functional/reduce.py`), so all processes find the clusters that one of them would
find in the whole set, up to rounding. The answer is the network's own: other endings, second looks
and constraints work on a context in one place.
"""

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed

from coterie.data.batch import SetBatch
from coterie.functional.reduce import any_point, sharded
from coterie.inference.assignment import apply_labels, cluster_sizes
from coterie.inference.loop import find_clusters
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.replay import ReplayRule
from coterie.systems.protocol import Sequential


class Shard(NamedTuple):
    """The labels of a process's own points (n,), sizes in all processes (k,), and the rule."""

    labels: NDArray[np.intp]
    sizes: NDArray[np.int64]
    rule: Rule


def cluster_shard(
    system: Sequential,
    points: NDArray[np.float32],
    group: distributed.ProcessGroup,
    device: str = "cpu",
) -> Shard:
    """Cluster the set of which this process has points (n, D), at least one."""
    batch = SetBatch.single(torch.from_numpy(points).to(device))
    with sharded(group):
        # The other steps of a GPU are recorded as graphs, without a place for an all-reduce.
        state = find_clusters(system, batch, accelerate=False)
        commits = tuple(commit for commit in state.commits if bool(any_point(commit.joined)))
    if not commits:
        raise ValueError("the network claims no point at all: its weights are damaged")
    rule = ReplayRule.of(deepcopy(system).double(), commits)
    labels = apply_labels(rule, points)
    sizes = _in_all(cluster_sizes(labels, rule.n_clusters), group, device)
    order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    rank = np.zeros(len(sizes), dtype=np.intp)
    rank[order] = np.arange(len(order))
    chosen = rule.select(torch.from_numpy(order).to(rule.device))
    return Shard(rank[labels], sizes[order], chosen)


def _in_all(
    sizes: NDArray[np.int64], group: distributed.ProcessGroup, device: str
) -> NDArray[np.int64]:
    total = torch.from_numpy(sizes).to(device)
    distributed.all_reduce(total, group=group)
    return total.cpu().numpy()
