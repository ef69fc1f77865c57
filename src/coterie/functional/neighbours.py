"""Neighbourhood components (Goldberger et al. 2004): neighbours that share their cluster."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

TEMPERATURE = 0.1


def neighbour_loss(
    vectors: Tensor, labels: Tensor, mask: Tensor, temperature: float = TEMPERATURE
) -> Tensor:
    """How improbable it is that a point's random neighbour is of its cluster, a scalar.

    The neighbour of a point is drawn from the softmax of the cosines over the temperature, and
    the loss is the mean of -log P(same cluster). vectors (B, N, C), labels and mask (B, N); points
    of label -1 are neighbours like others, but belong to no cluster.
    """
    unit = normalize(vectors, dim=-1)
    itself = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    others = mask[:, None] & ~itself  # (B, N, N)
    score = torch.where(others, unit @ unit.transpose(1, 2) / temperature, -torch.inf)
    same = others & (labels[:, None] == labels[..., None])
    asked = same.any(-1) & mask & (labels >= 0)
    finite = asked[..., None]  # rows without a neighbour would make the gradient NaN
    drawn = torch.where(finite, score, 0.0).logsumexp(-1)
    right = torch.where(finite, torch.where(same, score, -torch.inf), 0.0).logsumexp(-1)
    return torch.where(asked, drawn - right, 0.0).sum() / asked.sum().clamp_min(1)
