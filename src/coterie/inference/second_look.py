"""A second look: each cluster that was found is shown to the network on its own.

In a crowded set a network may take two neighbours for one cluster. Alone they look like the sets it
was trained on, and it separates them. A network that reads every set in a frame of its own reads
the cluster in such a frame too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.frames.protocol import Frame
from coterie.functional.matching import sureness
from coterie.inference.loop import find_clusters
from coterie.systems.protocol import Commit, Sequential

FEWEST = 8  # points: what is smaller is no cluster of its own, but the edge of one
SMALLEST_SHARE = 0.02
# In a frame of its own: how many points a cluster needs, and how sure of its parts the network must
# be. It sometimes divides a shape that is one, but seldom with more confidence than in the whole.
FEWEST_IN_FRAME = 20
SURE_ENOUGH = 0.8
# Sure clusters with this share of the points are skipped: a look at them takes longest and seldom
# finds anything.
SURE = 0.9
LARGE_SHARE = 0.15
# With the network before leaps, on 44 public sets and 100 draws of its prior, this left the mean
# ARI where it was, or a little higher (0.702 to 0.703 and 0.702 to 0.708), and found the number of
# clusters more often, within one on 66 and 65 % of them instead of 64 and 54.
DOUBTFUL = 0.6


class Look(NamedTuple):
    """A cluster of a set of N points, and the parts that a second look found in it.

    rows: (M,), its points; parts: commits among these alone, none where the cluster is one; frame:
    in which the parts were found, None for that of the set.
    """

    whole: Commit
    rows: Tensor
    parts: tuple[Commit, ...]
    frame: Frame | None = None

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
    system: Sequential,
    batch: SetBatch,
    commits: Sequence[Commit],
    *,
    generator: Generator | None = None,
) -> tuple[Look, ...]:
    """Each commit to one set of points under a second look, all clusters side by side."""
    rows = [commit.joined[0].nonzero()[:, 0] for commit in commits]
    alone = SetBatch.padded([batch.points[0, members] for members in rows])
    steps = find_clusters(system, alone, generator=generator).commits
    return tuple(
        Look(commit, members, _parts(steps, number, len(members)))
        for number, (commit, members) in enumerate(zip(commits, rows, strict=True))
    )


def look_closer(
    system: Sequential,
    batch: SetBatch,
    commits: Sequence[Commit],
    refit_frame: Callable[[NDArray], Frame],
    *,
    generator: Generator | None = None,
) -> tuple[Look, ...]:
    """Each commit to one set of points, its cluster alone and in a frame of its own."""
    looks, n_points = [], batch.points.shape[1]
    for commit in commits:
        rows = commit.joined[0].nonzero()[:, 0]
        look = Look(commit, rows, ())
        sure = _sureness([commit])
        if len(rows) >= FEWEST_IN_FRAME and (sure < SURE or len(rows) < LARGE_SHARE * n_points):
            points = batch.points[0, rows].cpu().numpy()
            frame = refit_frame(points)
            seen = SetBatch.single(torch.from_numpy(frame(points)).to(batch.points.device))
            steps = find_clusters(system, seen, generator=generator).commits
            parts = _parts(steps, 0, len(rows))
            if parts and _sureness(parts) > max(SURE_ENOUGH, sure):
                look = Look(commit, rows, _in_set_frame(parts, batch.points[0, rows]), frame)
        looks.append(look)
    return tuple(looks)


def _sureness(parts: Sequence[Commit]) -> float:
    """How sure the network is of the parts, weighted by their sizes."""
    sizes = torch.stack([part.joined.sum() for part in parts])
    sure = torch.stack([sureness(part.membership_logits)[0] for part in parts])
    return float((sizes * sure).sum() / sizes.sum())


def _parts(steps: Sequence[Commit], number: int, n_points: int) -> tuple[Commit, ...]:
    """The clusters of one of the sets, where there are several worth the name."""
    alone = [_of_set(step, number, n_points) for step in steps]
    enough = max(FEWEST, SMALLEST_SHARE * n_points)
    parts = tuple(commit for commit in alone if int(commit.joined.sum()) >= enough)
    return parts if len(parts) > 1 else ()


def _of_set(commit: Commit, number: int, n_points: int) -> Commit:
    """What a commit says of one of B sets, without its padding."""
    one = slice(number, number + 1)
    density = commit.density
    return Commit(
        commit.joined[one, :n_points],
        commit.membership_logits[one, :n_points],
        tuple(part[one] for part in commit.memory),
        density=None if density is None else density.of_sets(one),
    )


def _in_set_frame(parts: Sequence[Commit], points: Tensor) -> tuple[Commit, ...]:
    """The parts of a cluster with points (M, D), their densities estimated in the set's frame.

    The network's own densities are those of the frame in which the parts were found.
    """
    return tuple(
        part
        if part.density is None
        else replace(part, density=part.density.refitted(points[part.joined[0]]))
        for part in parts
    )


def confident_clusters(clusters: Sequence[Commit]) -> Tensor:
    """Which clusters of one set the network is sure of, the surest at least: (K',), in order.

    The loop goes on until every point has a cluster, and the last clusters are gathered from the
    edges of earlier ones and from the background. Their points are better off with their next
    choice.

    A step with no positive logit means that nothing is left: it and the steps after it are dropped,
    unless it is the first.
    """
    sure = torch.stack([sureness(cluster.membership_logits)[0] for cluster in clusters])
    refused = torch.stack([(cluster.membership_logits <= 0).all() for cluster in clusters])
    over = refused.cumsum(0) > 0
    if not over.all():
        sure = torch.where(over, 0.0, sure)
    return (sure >= min(DOUBTFUL, float(sure.max()))).nonzero()[:, 0]
