"""Partitions of a set: labels, and the claims that make them."""

import math

import torch
from torch import Tensor

from coterie.functional.reduce import all_points_max, any_point, count_points


def one_hot(labels: Tensor, n_clusters: int) -> Tensor:
    """Boolean memberships: labels (..., N), -1 for none -> (..., N, K)."""
    return labels[..., None] == torch.arange(n_clusters, device=labels.device)


def claim(membership_logits: Tensor, remaining: Tensor, too_many: Tensor) -> Tensor:
    """The points a proposed cluster takes: logits (B, N), remaining (B, N) -> (B, N) bool.

    Every remaining point with probability above 0.5 (DAC, section 3.1). If there is none although
    more than too_many (B,) points remain, the network is undecided rather than done: then the
    points with at least half the largest probability are taken.
    """
    sure = remaining & (membership_logits > 0)
    undecided = ~any_point(sure) & (count_points(remaining) > too_many)
    log_probability = torch.nn.functional.logsigmoid(membership_logits)
    log_probability = torch.where(remaining, log_probability, -torch.inf)
    largest = all_points_max(log_probability.amax(1, keepdim=True))
    half_the_largest = largest - math.log(2.0)
    likely = remaining & (log_probability >= half_the_largest)
    return torch.where(undecided[:, None], likely, sure)


def stick_breaking(membership_logits: Tensor) -> Tensor:
    """Log-probability of each cluster when clusters claim in turn: (..., N, K) -> (..., N, K).

    log P(y = k) = log m_k + sum over j < k of log(1 - m_j), normalised over the K clusters found.
    """
    accept = torch.nn.functional.logsigmoid(membership_logits)
    refuse = torch.nn.functional.logsigmoid(-membership_logits)
    before = torch.nn.functional.pad(refuse[..., :-1], (1, 0)).cumsum(-1)
    return (accept + before).log_softmax(-1)
