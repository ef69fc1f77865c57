"""The network of ACT-ST (DAC, eq. 10 and 11): a set to mixtures of 1, 2, ... Gaussians.

Step k decodes a mixture of k Gaussians and decides whether to go on. No step needs the output of
another, so all steps are decoded side by side: step k is row k of a batch in which slot j is masked
for j > k.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from coterie.densities.heads import LOG_SCALES
from coterie.functional.em import Gaussians
from coterie.layers.set_blocks import ISAB, SAB, AdaptivePMA
from coterie.systems.act_st.config import ACTSTConfig


class Decoded(NamedTuple):
    """What K steps decode for B sets.

    going_on: (B, K), the logits of v_k; mixtures: of each step, (B, K, K) and (B, K, K, D), the
    weights of components after the k-th are zero.
    """

    going_on: Tensor
    mixtures: Gaussians

    def at(self, n_clusters: Tensor) -> Gaussians:
        """The mixtures of the steps n_clusters (B,), counted from one: (B, K), (B, K, D)."""
        return Gaussians(*(_at(part, n_clusters - 1) for part in self.mixtures))


def _at(values: Tensor, step: Tensor) -> Tensor:
    """The values of one step of each set: (B, K, ...), (B,) -> (B, ...)."""
    index = step.view(-1, *[1] * (values.ndim - 1)).expand(-1, 1, *values.shape[2:])
    return values.gather(1, index)[:, 0]


class MixtureNetwork(nn.Module):
    """Induced blocks, pooling by a growing number of seeds, self-attention of the clusters."""

    def __init__(self, config: ACTSTConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        widths = [config.columns] + [width] * config.encoder_blocks
        self.encoder = nn.ModuleList(
            ISAB(before, width, heads, config.slots) for before in widths[:-1]
        )
        self.pool = AdaptivePMA(widths[-1], width, heads)
        self.decoder = nn.ModuleList(SAB(width, width, heads) for _ in range(config.decoder_blocks))
        self.head = nn.Linear(width, 2 + 2 * config.columns)  # the stop, the weight, mean and scale

    def forward(self, points: Tensor, mask: Tensor, n_steps: int) -> Decoded:
        """points (B, N, D), mask (B, N) -> what the first K = n_steps steps decode."""
        for block in self.encoder:
            points = block(points, mask)
        pooled = self.pool(points, n_steps, mask)  # (B, K, C)
        exists = torch.ones(n_steps, n_steps, dtype=torch.bool, device=points.device).tril()
        n_sets = len(points)
        clusters = pooled[:, None].expand(-1, n_steps, -1, -1).flatten(0, 1)  # (B K, K, C)
        in_step = exists.repeat(n_sets, 1)  # (B K, K)
        for block in self.decoder:
            clusters = block(clusters, in_step)
        read = self.head(clusters).unflatten(0, (n_sets, n_steps))  # (B, K, K, 2 + 2 D)
        stop, weight, theta = read[..., 0], read[..., 1], read[..., 2:]
        # The mean over the clusters of the step, eq. 11.
        going_on = torch.where(exists, stop, 0.0).sum(-1) / exists.sum(-1)
        log_weight = torch.where(exists, weight, -torch.inf).log_softmax(-1)
        mean, log_scale = theta.chunk(2, -1)
        return Decoded(going_on, Gaussians(log_weight, mean, log_scale.clamp(*LOG_SCALES)))
