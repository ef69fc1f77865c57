"""Anchors: points whose cluster a network is to find (DAC, anchored filtering, eq. 7).

In training anchors are drawn at random; in the loop they are the points with the highest score.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.functional.partitions import one_hot
from coterie.functional.reduce import all_points_max, count_points


class Anchors(NamedTuple):
    """A queries for each of B sets: find the cluster of a point among the remaining points."""

    point: Tensor  # (B, A), index of the anchor
    remaining: Tensor  # (B, A, N) bool
    finished: Tensor  # (B, A, K) bool, clusters found before
    target: Tensor  # (B, A, N) bool, the true cluster; empty if the anchor is a stray
    judged: Tensor  # (B, A) bool, whether the target is independent of the clusters found before


def draw_anchors(
    labels: Tensor,
    mask: Tensor,
    n_anchors: int,
    n_clusters: int,
    generator: Generator | None,
    *,
    stray_anchors: float = 0.1,
    stray_points: float = 0.05,
) -> Anchors:
    """Random queries for labelled sets: labels and mask (B, N); valid points of -1 are strays.

    Half of the anchors are drawn uniformly from the points; for the other half a cluster is drawn
    first, so that small clusters are covered, and the strays count as one cluster. In a third of
    the queries everything remains; in the others each cluster stays with a probability drawn for
    the query. A finished cluster leaves up to stray_points of its points behind, as in the loop;
    a share stray_anchors of the anchors are such leftovers, and their target is empty.
    """
    n_sets, n_points = mask.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=mask.device)

    member = one_hot(labels, n_clusters).transpose(1, 2) & mask[:, None]  # (B, K, N)
    present = member.any(2)
    by_point = torch.where(mask[:, None], uniform(n_sets, n_anchors, n_points), -1.0)
    strays = mask & (labels < 0)
    drawable = torch.cat([present, strays.any(1, keepdim=True)], 1)  # (B, K + 1)
    lottery = torch.where(drawable[:, None], uniform(n_sets, n_anchors, n_clusters + 1), -1.0)
    cluster = lottery.argmax(2)  # (B, A)
    inside = torch.where(strays, n_clusters, labels)[:, None] == cluster[..., None]
    by_cluster = torch.where(inside, by_point, -1.0)
    from_points = uniform(n_sets, n_anchors, 1) < 0.5
    point = torch.where(from_points, by_point, by_cluster).argmax(2)  # (B, A)

    of_anchor = labels.gather(1, point)[..., None]  # (B, A, 1)
    own = one_hot(of_anchor[..., 0], n_clusters)  # (B, A, K)
    stay = (1.5 * uniform(n_sets, n_anchors, 1)).clamp_max(1)
    kept = uniform(n_sets, n_anchors, n_clusters) < stay
    has_others = (own & (member.sum(2) > 1)[:, None]).any(2, keepdim=True)
    stray = has_others & (uniform(n_sets, n_anchors, 1) < stray_anchors)
    kept = torch.where(own, ~stray, kept) & present[:, None]
    finished = present[:, None] & ~kept

    rate = stray_points * uniform(n_sets, n_anchors, 1)
    left_behind = uniform(n_sets, n_anchors, n_points) < rate
    is_anchor = one_hot(point, n_points)
    of_kept = (kept.to(torch.float32) @ member.to(torch.float32)) > 0.5  # (B, A, N)
    remaining = mask[:, None] & (of_kept | left_behind | is_anchor | (labels < 0)[:, None])
    target = remaining & (labels[:, None] == of_anchor) & ~stray & (of_anchor >= 0)
    return Anchors(point, remaining, finished, target, judged=~stray[..., 0] & mask.any(1)[:, None])


def uniform_anchors(mask: Tensor, n_anchors: int, generator: Generator | None) -> Tensor:
    """Points drawn uniformly from those of mask (B, N), with replacement: indices (B, A)."""
    shape = (len(mask), n_anchors, mask.shape[1])
    ticket = torch.rand(shape, generator=generator, device=mask.device)
    return torch.where(mask[:, None], ticket, -1.0).argmax(2)


def best_anchor(outlook: Tensor, mask: Tensor) -> Tensor:
    """The point of the highest outlook (B, N), with ties shared: weights (B, 1, N)."""
    best = all_points_max(outlook.amax(1, keepdim=True))
    chosen = (mask & (outlook == best)).to(outlook)
    return (chosen / count_points(chosen)[:, None].clamp_min(1))[:, None]


def spread_anchors(outlook: Tensor, mask: Tensor, n_anchors: int) -> Tensor:
    """Points at evenly spaced ranks of their outlook (B, N): weights (B, A, N).

    outlook is -inf outside mask (B, N).
    """
    order = outlook.argsort(dim=1, descending=True, stable=True)
    number = torch.arange(n_anchors, device=mask.device)
    rank = ((number + 0.5) / n_anchors * mask.sum(1, keepdim=True)).long()
    return one_hot(order.gather(1, rank), mask.shape[1]).to(outlook)
