"""Clusters that are shown to the network again, two by two and alone, until they stay as they are.

Among more clusters than in any of its training sets a network takes two neighbours for one, or puts
the border between them in the wrong place. Two clusters alone look like a training set.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.partitions import stick_breaking
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Commit, Sequential

Labels = NDArray[np.intp]
Group = tuple[int, ...]

NEIGHBOURS = 3  # a cluster is shown with each of so many others, the nearest
# A round cluster that was cut in two has a border through its midst, where the network is in doubt.
# On 230 sets of mixtures the halves of four such clusters had .946 to .961, two of 725 pairs that
# were two clusters had less than .961.
SURE_OF_TWO = 0.96
ROUNDS = 4  # of looks at pairs, before and after the one at each cluster alone


def settled(system: Sequential, points: Tensor, labels: Labels) -> Labels:
    """The clusters (N,) of points (N, D) after further looks at those of some labels 0..K-1."""
    labels = _looked_at_pairs(system, points, labels)
    alone = [(number,) for number in range(int(labels.max()) + 1)]
    labels = _looked_at_pairs(system, points, shown_again(system, points, labels, alone))
    while (pair := least_sure(system, points, labels)) is not None:
        labels = np.where(labels == max(pair), min(pair), labels)
        labels = np.unique(labels, return_inverse=True)[1]
    return labels


def memberships(system: Sequential, points: Tensor, labels: Labels) -> NDArray[np.float64]:
    """How much each point (N, D) belongs to each cluster: (N, K), rows sum to one.

    Two by two, as the network sees a pair of neighbours alone: the odds of a point's own cluster
    against a neighbour are those of the pair, and there is none against the others.
    """
    shares = np.eye(int(labels.max()) + 1)[labels]
    pairs = neighbours(points, labels)
    rows = [np.flatnonzero(np.isin(labels, pair)) for pair in pairs]
    for pair, members, found in zip(pairs, rows, _shown(system, points, rows), strict=True):
        if not same_partition(labels[members], found.argmax(1)):
            continue
        ordered = np.sort(found, axis=1)
        shares[members, sum(pair) - labels[members]] = np.exp(ordered[:, -2] - ordered[:, -1])
    return shares / shares.sum(1, keepdims=True)


def least_sure(system: Sequential, points: Tensor, labels: Labels) -> Group | None:
    """The pair of neighbours between which the network is least sure; None if it is of all.

    Sure of a pair is how probable the own one of both is for its points, on average.
    """
    shares = memberships(system, points, labels)
    sure = {}
    for pair in neighbours(points, labels):
        inside = shares[np.isin(labels, pair)][:, pair]
        sure[pair] = float((inside.max(1) / inside.sum(1)).mean())
    pair = min(sure, key=lambda each: sure[each], default=None)
    return pair if pair is not None and sure[pair] < SURE_OF_TWO else None


def _looked_at_pairs(system: Sequential, points: Tensor, labels: Labels) -> Labels:
    for _ in range(ROUNDS):
        before, labels = labels, shown_again(system, points, labels, neighbours(points, labels))
        if same_partition(before, labels):
            break
    return labels


def neighbours(points: Tensor, labels: Labels) -> list[Group]:
    """Pairs of clusters whose means are near each other, the nearest first."""
    places = points.double().cpu().numpy()
    means = np.stack([places[labels == number].mean(0) for number in range(labels.max() + 1)])
    far = cdist(means, means)
    nearest = far.argsort(1)[:, 1 : NEIGHBOURS + 1]
    pairs = {
        (min(one, two), max(one, two))
        for one, row in enumerate(nearest.tolist())
        for two in row
        if one != two
    }
    return sorted(pairs, key=lambda pair: (far[pair], pair))


def shown_again(
    system: Sequential, points: Tensor, labels: Labels, groups: Sequence[Group]
) -> Labels:
    """The labels (N,) after the network has seen some groups of clusters, each group alone.

    What it says of a group takes the place of its clusters, whatever their number becomes. Of
    several groups with a cluster in common the first that changes anything counts.
    """
    rows = [np.flatnonzero(np.isin(labels, group)) for group in groups]
    changed, taken = labels.copy(), set[int]()
    for group, members, shown in zip(groups, rows, _shown(system, points, rows), strict=True):
        found = shown.argmax(1)
        if taken.isdisjoint(group) and not same_partition(labels[members], found):
            changed[members] = changed.max() + 1 + found
            taken.update(group)
    return np.unique(changed, return_inverse=True)[1]


def _shown(
    system: Sequential, points: Tensor, rows: Sequence[NDArray[np.intp]]
) -> list[NDArray[np.float64]]:
    """Log-probabilities (M_g, S) of the clusters in some of the points at a time, side by side."""
    if not rows:
        return []
    batch = SetBatch.padded([points[torch.from_numpy(each)] for each in rows])
    with torch.inference_mode():
        commits = find_clusters(system, batch).commits
        logits = torch.stack([_claims(commit) for commit in commits], -1)
        found = stick_breaking(logits).double().cpu().numpy()
    return [each[: len(members)] for each, members in zip(found, rows, strict=True)]


def _claims(commit: Commit) -> Tensor:
    """The membership logits (B, N) of a step; none of sets that were finished before it."""
    took = commit.joined.any(1, keepdim=True)
    return torch.where(took, commit.membership_logits, -torch.inf)


def same_partition(one: Labels, other: Labels) -> bool:
    """Whether two labellings (M,) have the same clusters under other names."""
    pairs = np.unique(np.stack([one, other]), axis=1)
    return all(len(np.unique(side)) == pairs.shape[1] for side in pairs)
