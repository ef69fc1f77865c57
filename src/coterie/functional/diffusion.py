"""Random walks among landmarks: how near points are when one may only go where there are points.

Some points are landmarks. From each of them a walk steps to its neighbours, near and far by the
local distance between points (self-tuning, Zelnik-Manor and Perona 2004). After a few steps the
walk knows the neighbourhood, after hundreds the whole of a ring or an arm of a spiral, and it has
hardly crossed a gap: clusters of any shape, without a parameter. Landmarks are as many as one
likes, points read them one by one, so the cost is linear in the number of points.

Shapes: B sets of N points in D columns, L landmarks, M scales, A weightings at the same time.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.functional.linkage import gaps_to

# Two gaits. The wide one sees blobs as a whole; the narrow one keeps to thin curves, where the
# seventh neighbour may already stand on the next arm of a spiral.
GAITS = ((10.0, (0, 3, 6)), (3.0, (6, 10, 14)))  # neighbours in reach of a step, doublings
CARRIED = (2, 4)  # the scales at which landmarks know the mean of where their walks end
# Leaps, where they are wanted: as far as one likes, but over no gap that is much wider than so many
# times the usual height of single linkage (`functional/linkage.py`).
LEAPS = (2.0, 3.5, 7.0)
STEEPNESS = 6
BISECTIONS = 14
SMALLEST = 1e-3
NARROWEST, WIDEST = 1e-2, 20.0


class Ground(NamedTuple):
    """The landmarks of a set, as a point sees them."""

    landmarks: Tensor  # (B, L, D)
    unit: Tensor  # (B, L), the local distance between points, infinite for a missing landmark
    news: Tensor  # (B, L, E), what a point learns of a landmark

    @property
    def there(self) -> Tensor:
        """Which landmarks are not missing: (B, L) bool."""
        return self.unit.isfinite()


class Walks(NamedTuple):
    """Where walks among the landmarks lead."""

    degree: Tensor  # (B, L), how much of the walks is there in the end
    ends: Tensor  # (B, M, L, L), from where to where
    crowd: Tensor  # (B, L), how many points are at each landmark


class Survey(NamedTuple):
    """A set of points as seen from its landmarks."""

    chosen: Tensor  # (B, L), which points are landmarks
    ground: Ground
    near: Tensor  # (B, N, L), how much each point is at each landmark, nothing for padding
    walks: Walks


def n_scales(leaps: bool) -> int:
    """M, how many scales there are."""
    return sum(len(doublings) for _, doublings in GAITS) + leaps * len(LEAPS)


def n_news(columns: int, leaps: bool) -> int:
    """E, how much a landmark has to tell."""
    return 1 + len(CARRIED) * columns + leaps * len(LEAPS)


def choose_landmarks(points: Tensor, mask: Tensor, n_landmarks: int) -> tuple[Tensor, Tensor]:
    """Points that stand for all, evenly along the first column: which (B, L), and whether.

    points (B, N, D), mask (B, N). The choice follows the points, not their order; where they are
    fewer than the landmarks, all are landmarks and some landmarks are missing.
    """
    # Points that share the first column, as on a grid, stand in an order of their other columns.
    slant = torch.arange(points.shape[-1], dtype=points.dtype, device=points.device).cos()
    order = (points * slant).sum(-1).argsort(dim=1, stable=True)
    first = torch.where(mask, points[..., 0], torch.inf).gather(1, order)
    order = order.gather(1, first.argsort(dim=1, stable=True))
    count = mask.sum(1, keepdim=True)  # (B, 1)
    number = torch.arange(n_landmarks, device=points.device)
    spread = ((number + 0.5) / n_landmarks * count).long()
    rank = torch.where(count > n_landmarks, spread, number).clamp_max(points.shape[1] - 1)
    return order.gather(1, rank), number < count


@torch.no_grad()
def survey(points: Tensor, mask: Tensor, n_landmarks: int, *, leaps: bool = False) -> Survey:
    """The landmarks of sets of points (B, N, D), mask (B, N), who is near what, and the walks.

    Always in full precision: what is rounded in a step is rounded in all that follow.
    """
    with torch.autocast(points.device.type, enabled=False):
        return _survey(points, mask, n_landmarks, leaps)


def _survey(points: Tensor, mask: Tensor, n_landmarks: int, leaps: bool) -> Survey:
    index, there = choose_landmarks(points, mask, n_landmarks)
    landmarks = points.gather(1, index[..., None].expand(-1, -1, points.shape[-1]))
    square = squared_distances(landmarks, landmarks)
    both = there[:, :, None] & there[:, None]
    walks, units, degrees = [], [], []
    for neighbours, doublings in GAITS:
        unit = local_unit(square, both, neighbours)
        affinity = torch.where(both, (-square / (unit[:, :, None] * unit[:, None])).exp(), 0.0)
        degrees.append(affinity.sum(2))
        walk = affinity / degrees[-1].clamp_min(1e-12)[..., None]
        for doubling in range(doublings[-1] + 1):
            if doubling in doublings:
                walks.append(walk)
            if doubling < doublings[-1]:
                walk = walk @ walk
                # What is lost by rounding would be lost again at every doubling.
                walk = walk / walk.sum(2, keepdim=True).clamp_min(1e-12)
        units.append(unit)
    unit, degree = units[1], degrees[0]  # points read the landmarks with the narrow gait
    news = [unit.log()[..., None], *(walks[scale] @ landmarks for scale in CARRIED)]
    gaps = gaps_to(points, mask, index) if leaps else None
    if gaps is not None:
        leap, crowds = _leaps(gaps.gather(1, index[..., None].expand(-1, -1, n_landmarks)), both)
        walks.extend(leap)
        news.append(crowds)
    unit = torch.where(there, unit, torch.inf)
    degree = degree / degree.sum(1, keepdim=True).clamp_min(1e-12)
    told = torch.where(there[..., None], torch.cat(news, -1), 0.0)
    ground = Ground(landmarks, unit, told)
    # Padded points are nowhere: walks from anywhere must not start from them.
    near = torch.where(mask[..., None], reach(points, ground, gaps), 0.0)
    return Survey(index, ground, near, Walks(degree, torch.stack(walks, 1), near.sum(1)))


def _leaps(gaps: Tensor, both: Tensor) -> tuple[list[Tensor], Tensor]:
    """Where leaps among landmarks lead, and how many of all are in reach of each.

    gaps (B, L, L), both (B, L, L) bool -> a list of (B, L, L), and logarithms (B, L, leaps).
    """
    ends, crowds = [], []
    for widest in LEAPS:
        open_to = torch.where(both, 1 / (1 + (gaps / widest) ** STEEPNESS), 0.0)
        crowd = open_to.sum(2, keepdim=True).clamp_min(1e-12)
        ends.append(open_to / crowd)
        crowds.append((crowd / both.sum(2, keepdim=True).clamp_min(1)).log())
    return ends, torch.cat(crowds, -1)


def forget(walks: Walks, which: Tensor) -> Walks:
    """The walks of some sets, which (B,) bool, as if they had lost where they came from."""
    anywhere = walks.degree[:, None, None].expand_as(walks.ends)
    return walks._replace(ends=torch.where(which[:, None, None, None], anywhere, walks.ends))


def local_unit(square: Tensor, both: Tensor, neighbours: float) -> Tensor:
    """The distance at which a landmark has that many neighbours, softly counted.

    square (B, L, L), both (B, L, L) bool -> (B, L). By bisection, as the perplexity of t-SNE: it is
    smooth, of static shape, and a sort of every row would take longer than all the rest.
    """
    low = torch.full_like(square[..., 0], math.log(NARROWEST))
    high = torch.full_like(low, math.log(WIDEST))
    square = torch.where(both, square, torch.inf)  # at which nobody is counted
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        count = (square * -(-2 * middle).exp()[..., None]).exp().sum(2)
        enough = count > 1 + neighbours  # itself included
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
    return high.exp()


def reach(points: Tensor, ground: Ground, gaps: Tensor | None = None) -> Tensor:
    """How much each point is at each landmark: (B, N, D) -> (B, N, L).

    gaps (B, N, L) between them: rather a landmark that is farther away than one beyond a gap.
    """
    square, unit = squared_distances(points, ground.landmarks), ground.unit
    scores = -2 * square / unit.square()[:, None]
    if gaps is not None:
        scores = scores - 2 * (gaps / LEAPS[0]).square().log1p()
    scores = torch.where(ground.there[:, None], scores, -torch.inf)
    # A set without landmarks is one without points: any finite number will do.
    scores = torch.where(ground.there.any(1)[:, None, None], scores, 0.0)
    return scores.softmax(-1)


def walk_from(weights: Tensor, near: Tensor, walks: Walks) -> Tensor:
    """Where walks lead that start at weighted points, against walks from anywhere: (B, A, L, M).

    weights (B, A, N), near (B, N, L). One is no preference, more is nearer than most.
    """
    start = (weights @ near) / walks.crowd[:, None].clamp_min(1e-6)  # (B, A, L)
    usual = (start * walks.degree[:, None]).sum(-1, keepdim=True)  # (B, A, 1)
    ends = walks.ends @ start.transpose(1, 2)[:, None]  # (B, M, L, A)
    return ends.permute(0, 3, 2, 1) / usual.clamp_min(1e-9)[..., None]


def nearness(near: Tensor, walked: Tensor) -> Tensor:
    """The walks' word on each point, as a logarithm: (B, N, L), (B, A, L, M) -> (B, A, N, M)."""
    n_sets, n_questions, n_landmarks, n_scales = walked.shape
    flat = walked.permute(0, 2, 1, 3).reshape(n_sets, n_landmarks, n_questions * n_scales)
    seen = (near @ flat).view(n_sets, -1, n_questions, n_scales).transpose(1, 2)
    return (seen + SMALLEST).log()


def squared_distances(points: Tensor, others: Tensor) -> Tensor:
    """(B, N, D), (B, L, D) -> (B, N, L), at least zero.

    By columns: a product of matrices would lose what is near in what is far.
    """
    total = points.new_zeros(points.shape[0], points.shape[1], others.shape[1])
    for column in range(_n_filled(points, others)):
        apart = points[:, :, None, column] - others[:, None, :, column]
        total = total + apart.square()
    return total


def _n_filled(points: Tensor, others: Tensor) -> int:
    """The number of columns up to the last that is not empty, where one can look without waiting.

    Principal axes stand first, so few columns of a table that has few are not empty.
    """
    if points.device.type != "cpu" or torch.compiler.is_exporting():
        return points.shape[-1]
    filled = (points != 0).flatten(0, 1).any(0) | (others != 0).flatten(0, 1).any(0)
    return int(filled.nonzero().amax()) + 1 if bool(filled.any()) else 0
