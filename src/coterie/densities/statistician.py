"""Mixtures of neural statisticians (DAC, appendix E, eq. 17-19; Edwards, Storkey 2017).

A cluster of binary items is described by its context theta: an item is decoded from theta and a
latent vector z of its own. The log-likelihood is bounded from below by that of an encoder.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import softplus

from coterie.densities.flow import Flow
from coterie.densities.heads import DensityHead
from coterie.densities.protocol import NoMarginal
from coterie.layers.mlp import mlp

N_DRAWS = 8  # of z for each item, where a bound is not for training
LOG_SCALES = (-6.0, 3.0)


class Sizes(NamedTuple):
    """width: of the hidden layers; context: theta's length; latent: z's; flow_*: of its prior."""

    width: int
    context: int
    latent: int
    flow_blocks: int
    flow_width: int


class Statistician(DensityHead):
    """Encoder, context, decoder and prior of all clusters, for items of D pixels in [0, 1].

    The prior of z is a flow that knows the context, as in the authors' published code; eq. 18
    has p(z).
    """

    def __init__(self, cluster_width: int, columns: int, sizes: Sizes) -> None:
        super().__init__()
        width, self.latent, self.columns = sizes.width, sizes.latent, columns
        self.encoder = mlp([columns, width, width, width])
        self.context = nn.Linear(cluster_width, sizes.context)
        self.posterior = nn.Linear(width, 2 * sizes.latent)
        self.posterior_context = nn.Linear(sizes.context, 2 * sizes.latent, bias=False)
        self.prior = Flow(sizes.latent, sizes.context, sizes.flow_blocks, sizes.flow_width)
        self.decoder_context = nn.Linear(sizes.context, width)
        self.decoder_latent = nn.Linear(sizes.latent, width)
        self.decoder = nn.Sequential(nn.GELU(), mlp([width, width, columns]))

    @property
    def regions(self) -> tuple[tuple[nn.Module, str], ...]:
        return ((self, "bound"),)

    def encode(self, points: Tensor) -> Tensor:
        """h_enc of eq. 17, which the blocks and the posterior of z read: (..., D) -> (..., C)."""
        encoded: Tensor = self.encoder(2 * points - 1)
        return encoded

    def density(self, cluster: Tensor) -> "StatisticianDensity":
        return StatisticianDensity(self, self.context(cluster))

    def log_prob(
        self, cluster: Tensor, points: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """The bound of eq. 18 for one pixel, so that it weighs as much as the memberships do."""
        shape = (*points.shape[:2], self.latent)
        noise = torch.randn(shape, generator=generator, device=points.device)
        return self.bound(self.context(cluster), points, noise.to(points)) / self.columns

    def bound(self, context: Tensor, points: Tensor, noise: Tensor) -> Tensor:
        """Eq. 18 at one z for each item: log p(x | z) + log p(z) - log q(z | x).

        context (B, C), points (B, N, D), noise (B, N, Z) standard normal -> (B, N).
        """
        return self.bound_given(self.moments(context, points), context, points, noise)

    def moments(self, context: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-scale of q(z | x): (B, C), (B, N, D) -> (B, N, Z) each."""
        moments = self.posterior(self.encode(points)) + self.posterior_context(context)[:, None]
        mean, log_scale = moments.chunk(2, -1)
        return mean, log_scale.clamp(*LOG_SCALES)

    def bound_given(
        self, moments: tuple[Tensor, Tensor], context: Tensor, points: Tensor, noise: Tensor
    ) -> Tensor:
        """The same, with the moments of q(z | x), which do not depend on the noise."""
        mean, log_scale = moments
        latent = mean + log_scale.exp() * noise
        log_q = -(0.5 * noise.square() + log_scale + 0.5 * math.log(2 * math.pi)).sum(-1)
        logits = self.decode(context, latent)
        log_likelihood = (points * logits - softplus(logits)).sum(-1)  # Bernoulli
        return log_likelihood + self.prior.log_prob(latent, context) - log_q

    def decode(self, context: Tensor, latent: Tensor) -> Tensor:
        """Logits of the pixels of items: (B, C), (B, N, Z) -> (B, N, D)."""
        hidden = self.decoder_latent(latent) + self.decoder_context(context)[:, None]
        logits: Tensor = self.decoder(hidden)
        return logits


@dataclass(frozen=True)
class StatisticianDensity:
    """A statistician with the context (B, C) of one cluster in each of B sets."""

    statistician: Statistician
    context: Tensor

    def log_prob(self, points: Tensor) -> Tensor:
        """A lower bound of the log-likelihood, importance-weighted over several draws of z.

        The log of the mean of exp(eq. 18), which lies between the mean of eq. 18 and the
        log-likelihood (Burda, Grosse, Salakhutdinov 2016). The draws are always the same, so that
        the bound of an item does not change.
        """
        columns, latent = self.statistician.columns, self.statistician.latent
        if points.shape[-1] != columns:
            raise NoMarginal(f"items have {columns} pixels, these have {points.shape[-1]}")
        seen, bounds = points.to(self.context), []
        moments = self.statistician.moments(self.context, seen)
        generator = Generator().manual_seed(0)
        for _ in range(N_DRAWS):
            noise = torch.randn(1, 1, latent, generator=generator).to(self.context)
            noise = noise.expand(*points.shape[:2], -1)
            bound = self.statistician.bound_given(moments, self.context, seen, noise)
            bounds.append(bound.to(points))
        return torch.stack(bounds).logsumexp(0) - math.log(N_DRAWS)

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        """n binary items of each cluster: (B, n, D)."""
        return torch.bernoulli(self.grey(n, generator), generator=generator)

    def grey(self, n: int, generator: Generator | None = None) -> Tensor:
        """The probability of ink in each pixel of n items of each cluster: (B, n, D)."""
        latent = self.statistician.prior.sample(n, self.context, generator)
        return self.statistician.decode(self.context, latent).sigmoid()

    def of_sets(self, sets: slice) -> "StatisticianDensity":
        return replace(self, context=self.context[sets])

    def refitted(self, points: Tensor) -> None:
        return None
