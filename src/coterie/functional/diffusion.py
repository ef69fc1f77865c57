"""Random walks among landmarks: proximity along the data, as in diffusion maps.

Some points are landmarks. Walks move from each of them to its neighbours, with distances in units
of the local distance between points (self-tuning, Zelnik-Manor and Perona 2004). A few steps
explore the neighbourhood, hundreds a whole ring or arm of a spiral, and hardly any walk crosses a
gap: clusters of any shape, without a parameter. The landmarks cost O(L^3) and each point reads all
of them, so walks are linear in the number of points. Leaps are quadratic: they need single linkage
of all N points, by Prim's algorithm in O(N^2).

Shapes: B sets of N points in D columns, L landmarks, M scales, A weightings at the same time.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.functional.linkage import gaps_to

# Two kinds of walks. Wide ones capture whole blobs; narrow ones follow thin curves, where the
# seventh neighbour may already lie on the next arm of a spiral.
GAITS = ((10.0, (0, 3, 6)), (3.0, (6, 10, 14)))  # neighbours within a step, doublings
CARRIED = (2, 4)  # the scales whose mean end points are features of a landmark
# Optional leaps of any length, but over no gap that is much wider than these multiples of the
# median height of single linkage (`functional/linkage.py`).
LEAPS = (2.0, 3.5, 7.0)
STEEPNESS = 6
BISECTIONS = 14
SMALLEST = 1e-3
NARROWEST, WIDEST = 1e-2, 20.0
# Exponents below this give nothing that a float32 sum would notice, and take ten times as long:
# their exponentials are no normal numbers.
LEAST_EXPONENT = -80.0


class Ground(NamedTuple):
    """The landmarks of a set, as points read them."""

    landmarks: Tensor  # (B, L, D)
    unit: Tensor  # (B, L), local distance between points, infinite for a missing landmark
    features: Tensor  # (B, L, E), features of a landmark that nearby points receive

    @property
    def there(self) -> Tensor:
        """Which landmarks are not missing: (B, L) bool."""
        return self.unit.isfinite()


class Walks(NamedTuple):
    """Random walks among the landmarks."""

    degree: Tensor  # (B, L), stationary distribution of the walks
    ends: Tensor  # (B, M, L, L), transition probabilities at each scale
    crowd: Tensor  # (B, L), number of points at each landmark


class Survey(NamedTuple):
    """The landmarks of a set and its walks."""

    chosen: Tensor  # (B, L), indices of the landmarks
    ground: Ground
    near: Tensor  # (B, N, L), soft assignment of points to landmarks, zero for padding
    walks: Walks


def n_scales(leaps: bool) -> int:
    """M, the number of scales."""
    return sum(len(doublings) for _, doublings in GAITS) + leaps * len(LEAPS)


def n_landmark_features(columns: int, leaps: bool) -> int:
    """E, the number of features of a landmark."""
    return 1 + len(CARRIED) * columns + leaps * len(LEAPS)


def choose_landmarks(points: Tensor, mask: Tensor, n_landmarks: int) -> tuple[Tensor, Tensor]:
    """Landmarks evenly spaced by rank in the first column: indices (B, L), and which exist.

    points (B, N, D), mask (B, N). The choice does not depend on the order of the points; if there
    are fewer points than landmarks, all are landmarks and some landmarks are missing.
    """
    # Ties in the first column, as on a grid, are broken by the other columns.
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
    """The landmarks and walks of sets of points (B, N, D), mask (B, N).

    Always in full precision, because rounding errors accumulate over the steps of a walk.
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
        exponent = -square / (unit[:, :, None] * unit[:, None])
        affinity = torch.where(both, exponent.clamp_(min=LEAST_EXPONENT).exp_(), 0.0)
        degrees.append(affinity.sum(2))
        walk = affinity / degrees[-1].clamp_min(1e-12)[..., None]
        for doubling in range(doublings[-1] + 1):
            if doubling in doublings:
                walks.append(walk)
            if doubling < doublings[-1]:
                walk = walk @ walk
                # Renormalise: rounding errors would double with every squaring.
                walk /= walk.sum(2, keepdim=True).clamp_min(1e-12)
        units.append(unit)
    unit, degree = units[1], degrees[0]  # points read the landmarks at the narrow scale
    features = [unit.log()[..., None], *(walks[scale] @ landmarks for scale in CARRIED)]
    gaps = gaps_to(points, mask, index) if leaps else None
    if gaps is not None:
        leap, crowds = _leaps(gaps.gather(1, index[..., None].expand(-1, -1, n_landmarks)), both)
        walks.extend(leap)
        features.append(crowds)
    unit = torch.where(there, unit, torch.inf)
    degree = degree / degree.sum(1, keepdim=True).clamp_min(1e-12)
    known = torch.where(there[..., None], torch.cat(features, -1), 0.0)
    ground = Ground(landmarks, unit, known)
    # No walk may start from a padded point.
    near = torch.where(mask[..., None], reach(points, ground, gaps), 0.0)
    return Survey(index, ground, near, Walks(degree, torch.stack(walks, 1), near.sum(1)))


def _leaps(gaps: Tensor, both: Tensor) -> tuple[list[Tensor], Tensor]:
    """Transition probabilities of leaps among landmarks, and the share of landmarks in reach.

    gaps (B, L, L), both (B, L, L) bool -> a list of (B, L, L), and logarithms (B, L, leaps).
    """
    ends, crowds = [], []
    for widest in LEAPS:
        open_to = torch.where(both, 1 / (1 + (gaps / widest) ** STEEPNESS), 0.0)
        crowd = open_to.sum(2, keepdim=True).clamp_min(1e-12)
        ends.append(open_to / crowd)
        crowds.append((crowd / both.sum(2, keepdim=True).clamp_min(1)).log())
    return ends, torch.cat(crowds, -1)


def drop_walks(walks: Walks, which: Tensor) -> Walks:
    """Replace the walks of some sets, which (B,) bool, by their stationary distribution."""
    anywhere = walks.degree[:, None, None].expand_as(walks.ends)
    return walks._replace(ends=torch.where(which[:, None, None, None], anywhere, walks.ends))


def local_unit(square: Tensor, both: Tensor, neighbours: float) -> Tensor:
    """The distance at which a landmark has that many neighbours, counted softly.

    square (B, L, L), both (B, L, L) bool -> (B, L). By bisection, like the perplexity of t-SNE,
    which is smooth and of static shape; sorting every row would take longer than all the rest.
    """
    low = torch.full_like(square[..., 0], math.log(NARROWEST))
    high = torch.full_like(low, math.log(WIDEST))
    square = torch.where(both, square, torch.inf)  # not counted
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        exponent = square * -(-2 * middle).exp()[..., None]
        count = exponent.clamp_(min=LEAST_EXPONENT).exp_().sum(2)
        enough = count > 1 + neighbours  # including itself
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
    return high.exp()


def reach(points: Tensor, ground: Ground, gaps: Tensor | None = None) -> Tensor:
    """Soft assignment of points to landmarks: (B, N, D) -> (B, N, L).

    gaps (B, N, L) between them: a more distant landmark is preferred to one beyond a gap.
    """
    square, unit = squared_distances(points, ground.landmarks), ground.unit
    scores = -2 * square / unit.square()[:, None]
    if gaps is not None:
        scores = scores - 2 * (gaps / LEAPS[0]).square().log1p()
    scores = torch.where(ground.there[:, None], scores, -torch.inf)
    # A set without landmarks has no points: any finite score will do.
    scores = torch.where(ground.there.any(1)[:, None, None], scores, 0.0)
    return scores.softmax(-1)


def walk_from(weights: Tensor, near: Tensor, walks: Walks) -> Tensor:
    """End points of walks from weighted points, relative to walks from anywhere: (B, A, L, M).

    weights (B, A, N), near (B, N, L). One means no preference, more means closer than average.
    """
    start = (weights @ near) / walks.crowd[:, None].clamp_min(1e-6)  # (B, A, L)
    usual = (start * walks.degree[:, None]).sum(-1, keepdim=True)  # (B, A, 1)
    ends = walks.ends @ start.transpose(1, 2)[:, None]  # (B, M, L, A)
    return ends.permute(0, 3, 2, 1) / usual.clamp_min(1e-9)[..., None]


def nearness(near: Tensor, walked: Tensor) -> Tensor:
    """Log proximity of each point along the walks: (B, N, L), (B, A, L, M) -> (B, A, N, M)."""
    n_sets, n_queries, n_landmarks, n_scales = walked.shape
    flat = walked.permute(0, 2, 1, 3).reshape(n_sets, n_landmarks, n_queries * n_scales)
    seen = (near @ flat).view(n_sets, -1, n_queries, n_scales).transpose(1, 2)
    return (seen + SMALLEST).log()


def squared_distances(points: Tensor, others: Tensor) -> Tensor:
    """(B, N, D), (B, L, D) -> (B, N, L), at least zero.

    Column by column: expanding the square into a matrix product would cancel for close points.
    """
    total = points.new_zeros(points.shape[0], points.shape[1], others.shape[1])
    for column in range(_n_filled(points, others)):
        apart = points[:, :, None, column] - others[:, None, :, column]
        total += apart.square()
    return total


def _n_filled(points: Tensor, others: Tensor) -> int:
    """The number of columns up to the last non-zero one, if it is known without synchronisation.

    Principal axes come first, so narrow tables have zeros in all later columns.
    """
    if points.device.type != "cpu" or torch.compiler.is_exporting():
        return points.shape[-1]
    filled = (points != 0).flatten(0, 1).any(0) | (others != 0).flatten(0, 1).any(0)
    return int(filled.nonzero().amax()) + 1 if bool(filled.any()) else 0
