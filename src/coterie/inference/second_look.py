"""A second look: each cluster that was found is shown to the network on its own.

In a crowd a network may take two neighbours for one cluster. Alone they look like the sets it was
trained on, and it tells them apart.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Commit, Sequential

FEWEST = 8  # points: what is smaller is no cluster of its own, but the edge of one
SMALLEST_SHARE = 0.02


class Look(NamedTuple):
    """A cluster of a set of N points, and the parts that a second look saw in it.

    rows: (M,), its points; parts: commits among these alone, none where the cluster is one.
    """

    whole: Commit
    rows: Tensor
    parts: tuple[Commit, ...]

    def clusters(self) -> tuple[Commit, ...]:
        """What there is instead of the cluster, among all N points; itself where it is one."""
        return tuple(self._at_home(part) for part in self.parts) or (self.whole,)

    def _at_home(self, part: Commit) -> Commit:
        joined = torch.zeros_like(self.whole.joined)
        logits = torch.full_like(self.whole.membership_logits, -torch.inf)
        joined[:, self.rows] = part.joined
        logits[:, self.rows] = part.membership_logits
        return replace(part, joined=joined, membership_logits=logits)


def look_again(
    system: Sequential, batch: SetBatch, commits: Sequence[Commit], *, max_steps: int
) -> list[Look]:
    """Each commit to one set of points under a second look, all clusters side by side."""
    rows = [commit.joined[0].nonzero()[:, 0] for commit in commits]
    longest = max(map(len, rows))
    points = batch.points.new_zeros(len(rows), longest, batch.points.shape[-1])
    mask = torch.zeros(len(rows), longest, dtype=torch.bool, device=points.device)
    for number, members in enumerate(rows):
        points[number, : len(members)] = batch.points[0, members]
        mask[number, : len(members)] = True
    steps = find_clusters(system, SetBatch(points, mask), max_steps=max_steps).commits
    return [
        Look(commit, members, _parts(steps, number, len(members)))
        for number, (commit, members) in enumerate(zip(commits, rows, strict=True))
    ]


def _parts(steps: Sequence[Commit], number: int, n_points: int) -> tuple[Commit, ...]:
    """The clusters of one of the sets, where there are several worth the name."""
    alone = [_of_set(step, number, n_points) for step in steps]
    enough = max(FEWEST, SMALLEST_SHARE * n_points)
    parts = tuple(commit for commit in alone if int(commit.joined.sum()) >= enough)
    return parts if len(parts) > 1 else ()


def _of_set(commit: Commit, number: int, n_points: int) -> Commit:
    """What a commit says of one of B sets, without its padding."""
    one = slice(number, number + 1)
    gaussian = commit.gaussian
    return Commit(
        commit.joined[one, :n_points],
        commit.membership_logits[one, :n_points],
        tuple(part[one] for part in commit.memory),
        None if gaussian is None else Gaussians(*(part[one] for part in gaussian)),
    )
