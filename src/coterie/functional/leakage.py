"""How much two clusters of directions leak into each other.

The neighbour of a point is drawn as in `neighbour_loss`, by which the encoder has learnt: of two
classes hardly any point has one in the other, of two parts of a class many do. So the temperature
and what counts as much are those of training, and need no adapting to a set.
"""

import torch
from torch import Tensor

from coterie.functional.neighbours import TEMPERATURE
from coterie.functional.partitions import one_hot


def neighbour_weights(unit: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """How likely each point is drawn as a neighbour of each other one: (N, C) -> (N, N).

    Up to a factor; a point is none of its own.
    """
    return ((unit @ unit.T - 1) / temperature).exp().fill_diagonal_(0)


def leakage(weights: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """How often a point of one of two clusters has its neighbour in the other one: (K, K).

    weights (N, N); labels (N,), each of 0..K-1 occurs. Only neighbours in the two clusters count,
    and the frequency is relative to that of a neighbour drawn blindly: 1 for clusters that do not
    differ. The larger of both ways; zero on the diagonal.
    """
    member = one_hot(labels, n_clusters).to(weights)  # (N, K)
    mass = weights @ member
    own = (mass * member).sum(1, keepdim=True)
    outside = mass / (mass + own).clamp_min(torch.finfo(mass.dtype).tiny)
    size = member.sum(0)
    frequency = member.T @ outside / size[:, None]
    blind = size / (size + size[:, None])
    relative = frequency / blind
    return relative.maximum(relative.T).fill_diagonal_(0)
