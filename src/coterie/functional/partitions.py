"""Partitions of a set: labels, and how clusters claim points."""

import math

import torch
from torch import Tensor

from coterie.functional.reduce import all_points_max, count_points


def one_hot(labels: Tensor, n_clusters: int) -> Tensor:
    """Boolean memberships: labels (..., N), -1 for none -> (..., N, K)."""
    return labels[..., None] == torch.arange(n_clusters, device=labels.device)


def claim(membership_logits: Tensor, remaining: Tensor, too_many: Tensor) -> Tensor:
    """The points a proposed cluster takes: logits (B, N), remaining (B, N) -> (B, N) bool.

    Every remaining point with probability above 0.5 (DAC, section 3.1). If there is none although
    more than too_many (B,) points remain, the network is undecided rather than finished: it then
    takes the points with more than half the largest probability.
    """
    offered = torch.where(remaining, membership_logits, -torch.inf)
    largest = all_points_max(offered.amax(1, keepdim=True))
    undecided = (largest <= 0) & (count_points(remaining) > too_many)[:, None]
    # sigmoid(x) > sigmoid(largest) / 2 in terms of the logit x.
    half_the_largest = torch.nn.functional.logsigmoid(largest - math.log(2.0))
    return offered > torch.where(undecided, half_the_largest, 0.0)


def stick_breaking(membership_logits: Tensor) -> Tensor:
    """Log-probability of each cluster when clusters claim in turn: (..., N, K) -> (..., N, K).

    log P(y = k) = log m_k + sum over j < k of log(1 - m_j), normalised over the K clusters found.
    """
    accept = torch.nn.functional.logsigmoid(membership_logits)
    refuse = torch.nn.functional.logsigmoid(-membership_logits)
    before = torch.nn.functional.pad(refuse[..., :-1], (1, 0)).cumsum(-1)
    return (accept + before).log_softmax(-1)
