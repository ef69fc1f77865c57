"""Mixtures of given densities: only their weights are estimated, and how many are needed."""

from typing import NamedTuple

import torch
from torch import Tensor

STEPS = 20


class Needed(NamedTuple):
    """The components that stay (K',), in order, and the log of their weights (K',)."""

    components: Tensor
    log_weight: Tensor


def estimate_weights(log_density: Tensor, log_weight: Tensor, steps: int = STEPS) -> Tensor:
    """EM over the weights of a mixture alone: (N, K), (K,) -> (K,)."""
    for _ in range(steps):
        shares = (log_density + log_weight).softmax(1).mean(0)
        log_weight = shares.clamp_min(torch.finfo(shares.dtype).tiny).log()
    return log_weight.log_softmax(0)


def removal_costs(log_joint: Tensor) -> Tensor:
    """What each component adds to the log-likelihood of N points, of K >= 2: (N, K) -> (K,).

    The weights of the others are scaled to sum to one, and not estimated again.
    """
    whole = log_joint.logsumexp(1)
    shares = (log_joint - whole[:, None]).exp().mean(0)  # at a fixed point of EM, the weights
    costs = torch.empty_like(shares)
    for component in range(len(costs)):
        others = log_joint.clone()
        others[:, component] = -torch.inf
        left = (1 - shares[component]).clamp_min(torch.finfo(shares.dtype).tiny).log()
        costs[component] = (whole - others.logsumexp(1) + left).sum()
    return costs


def needed_components(
    log_density: Tensor, cost: float, at_least: int = 1, at_most: int | None = None
) -> Needed:
    """Drop components one by one while the log-likelihood falls by less than cost for each.

    log_density: (N, K). The one that is missed least goes first. at_least and at_most bound how
    many stay, whatever the cost.
    """
    components = torch.arange(log_density.shape[1], device=log_density.device)
    start = log_density.new_zeros(len(components)).log_softmax(0)
    log_weight = estimate_weights(log_density, start)
    while len(components) > max(at_least, 1):
        costs = removal_costs(log_density[:, components] + log_weight)
        least = int(costs.argmin())
        if float(costs[least]) >= cost and (at_most is None or len(components) <= at_most):
            break
        kept = torch.arange(len(components), device=components.device) != least
        components, log_weight = components[kept], log_weight[kept].log_softmax(0)
        log_weight = estimate_weights(log_density[:, components], log_weight)
    return Needed(components, log_weight)
