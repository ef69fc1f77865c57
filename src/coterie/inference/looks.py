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
SIDE_BY_SIDE = 8192  # points, padding included; more take longer than one after another
STEPS = 12  # a network that has not finished two clusters by then does not know such sets


class Looks:
    """What the network says of some of the points (N, D) at a time, each group alone.

    What was said is kept: most groups stay as they are from one round to the next.
    """

    def __init__(self, system: Sequential, points: Tensor) -> None:
        self.system, self.points = system, points
        self._said: dict[bytes, NDArray[np.float64] | None] = {}

    def at(self, rows: Sequence[NDArray[np.intp]]) -> list[NDArray[np.float64] | None]:
        """Log-probabilities (M_g, S_g) of the clusters in groups of points, side by side.

        None of a group in which the network finds no end of clusters.
        """
        unknown = {each.tobytes(): each for each in rows if each.tobytes() not in self._said}
        names = [*unknown]
        for group in bundles([len(each) for each in unknown.values()]):
            shown = [names[number] for number in group]
            self._said.update(
                zip(shown, self._look([unknown[each] for each in shown]), strict=True)
            )
        return [self._said[each.tobytes()] for each in rows]

    @torch.inference_mode()
    def _look(self, rows: Sequence[NDArray[np.intp]]) -> list[NDArray[np.float64] | None]:
        batch = SetBatch.padded([self.points[torch.from_numpy(each)] for each in rows])
        state = find_clusters(self.system, batch, most_steps=STEPS)
        ended = self.system.finished(state).tolist()
        logits = torch.stack([_claims(commit) for commit in state.commits], -1)
        found = stick_breaking(logits).double().cpu().numpy()
        return [
            each[: len(members)] if whole else None
            for each, members, whole in zip(found, rows, ended, strict=True)
        ]


def bundles(sizes: Sequence[int]) -> list[list[int]]:
    """Which of some sets are looked at side by side: those of like sizes, padded to the longest.

    All wait for the one that takes the most steps, so few do where sets are large.
    """
    found = list[list[int]]()
    for number in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        if not found or (len(found[-1]) + 1) * sizes[found[-1][0]] > SIDE_BY_SIDE:
            found.append([])
        found[-1].append(number)
    return found


def settled(looks: Looks, labels: Labels) -> Labels:
    """The clusters (N,) of points (N, D) after further looks at those of some labels 0..K-1."""
    labels = _looked_at_pairs(looks, labels)
    alone = [(number,) for number in range(int(labels.max()) + 1)]
    labels = _looked_at_pairs(looks, shown_again(looks, labels, alone))
    for _ in range(ROUNDS):
        pairs = doubtful(looks, labels)
        if not pairs:
            break
        for one, other in pairs:
            labels = np.where(labels == other, one, labels)
        labels = np.unique(labels, return_inverse=True)[1]
    return labels


def memberships(looks: Looks, labels: Labels) -> NDArray[np.float64]:
    """How much each point (N, D) belongs to each cluster: (N, K), rows sum to one.

    Two by two, as the network sees a pair of neighbours alone: the odds of a point's own cluster
    against a neighbour are those of the pair, and there is none against the others.
    """
    shares = np.eye(int(labels.max()) + 1)[labels]
    pairs = neighbours(looks.points, labels)
    rows = [np.flatnonzero(np.isin(labels, pair)) for pair in pairs]
    for pair, members, found in zip(pairs, rows, looks.at(rows), strict=True):
        if found is None or not same_partition(labels[members], found.argmax(1)):
            continue
        ordered = np.sort(found, axis=1)
        shares[members, sum(pair) - labels[members]] = np.exp(ordered[:, -2] - ordered[:, -1])
    return shares / shares.sum(1, keepdims=True)


def doubtful(looks: Looks, labels: Labels) -> list[Group]:
    """Pairs of neighbours between which the network is in doubt, each cluster in one at most.

    Sure of a pair is how probable the own one of both is for its points, on average.
    """
    shares = memberships(looks, labels)
    sure = {}
    for pair in neighbours(looks.points, labels):
        inside = shares[np.isin(labels, pair)][:, pair]
        sure[pair] = float((inside.max(1) / inside.sum(1)).mean())
    found, taken = [], set[int]()
    for pair in sorted(sure, key=lambda each: sure[each]):
        if sure[pair] < SURE_OF_TWO and taken.isdisjoint(pair):
            found.append(pair)
            taken.update(pair)
    return found


def _looked_at_pairs(looks: Looks, labels: Labels) -> Labels:
    for _ in range(ROUNDS):
        before, labels = labels, shown_again(looks, labels, neighbours(looks.points, labels))
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


def shown_again(looks: Looks, labels: Labels, groups: Sequence[Group]) -> Labels:
    """The labels (N,) after the network has seen some groups of clusters, each group alone.

    What it says of a group takes the place of its clusters, whatever their number becomes. Of
    several groups with a cluster in common the first that changes anything counts.
    """
    rows = [np.flatnonzero(np.isin(labels, group)) for group in groups]
    changed, taken = labels.copy(), set[int]()
    for group, members, shown in zip(groups, rows, looks.at(rows), strict=True):
        if shown is None:
            continue
        found = shown.argmax(1)
        if taken.isdisjoint(group) and not same_partition(labels[members], found):
            changed[members] = changed.max() + 1 + found
            taken.update(group)
    return np.unique(changed, return_inverse=True)[1]


def _claims(commit: Commit) -> Tensor:
    """The membership logits (B, N) of a step; none of sets that were finished before it."""
    took = commit.joined.any(1, keepdim=True)
    return torch.where(took, commit.membership_logits, -torch.inf)


def same_partition(one: Labels, other: Labels) -> bool:
    """Whether two labellings (M,) have the same clusters under other names."""
    pairs = np.unique(np.stack([one, other]), axis=1)
    return all(len(np.unique(side)) == pairs.shape[1] for side in pairs)
