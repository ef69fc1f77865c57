"""Mixtures of Gaussians (DAC, eq. 13), and the parts that every mixture prior shares."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians


class Composition(NamedTuple):
    """The weights and labels of a mixture, drawn before the positions."""

    log_weight: Tensor  # (B, K), -inf for the clusters a set does not have
    labels: Tensor  # (B, N), -1 for padding
    mask: Tensor  # (B, N)


class MixtureDraw(NamedTuple):
    """A batch together with the true mixture of each set, for the oracle."""

    batch: SetBatch
    mixture: Gaussians


def compose(
    n_sets: int,
    n_max: int,
    k_max: int,
    generator: Generator,
    *,
    concentration: int = 1,
    any_k: bool = False,
    least: float = 0.3,
) -> Composition:
    """Sizes, numbers of clusters, weights and labels of eq. 13.

    n ~ Unif(least n_max, n_max), k - 1 ~ Binomial(k_max - 1, 1/2), pi ~ Dir(alpha), y_i ~ Cat(pi).
    The paper leaves the concentration alpha open; 1 reproduces its oracle log-likelihoods.
    Every set has its own n inside a tensor of n_max points, so that shapes are static and the
    network is trained with masks. In the paper all sets of a batch share one n. any_k: every k
    from 1 to k_max is as likely instead.
    """
    device = generator.device
    sizes = torch.randint(
        math.ceil(least * n_max), n_max + 1, (n_sets, 1), generator=generator, device=device
    )
    mask = torch.arange(n_max, device=device) < sizes  # (B, N)
    coins = torch.rand(n_sets, k_max - 1, generator=generator, device=device) < 0.5
    n_clusters = 1 + coins.sum(1, keepdim=True)
    if any_k:
        n_clusters = torch.randint(1, k_max + 1, (n_sets, 1), generator=generator, device=device)
    exists = torch.arange(k_max, device=device) < n_clusters  # (B, K)
    # A Dirichlet draw is a vector of gammas over their sum; an integer gamma sums exponentials.
    share = torch.empty(n_sets, k_max, concentration, device=device)
    share = share.exponential_(generator=generator).sum(-1)
    log_weight = torch.where(exists, share.log(), -torch.inf).log_softmax(1)
    ends = log_weight.exp().cumsum(1)  # (B, K)
    uniform = torch.rand(n_sets, n_max, generator=generator, device=device) * ends[:, -1:]
    labels = torch.searchsorted(ends, uniform, right=True).clamp_max(k_max - 1)
    labels = torch.minimum(labels, n_clusters - 1)
    return Composition(log_weight, torch.where(mask, labels, -1), mask)


def of_cluster(values: Tensor, labels: Tensor) -> Tensor:
    """The value of each point's cluster: (B, K, D), (B, N) -> (B, N, D)."""
    index = labels.clamp_min(0)[..., None].expand(-1, -1, values.shape[-1])
    return values.gather(1, index)


@dataclass(frozen=True)
class MixtureOfGaussians:
    """2-D mixtures of axis-aligned Gaussians, eq. 13."""

    n_max: int = 1000
    k_max: int = 4
    columns: int = 2
    mean_scale: float = 3.0
    log_scale_mean: float = math.log(0.25)
    log_scale_spread: float = 0.1

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets, on the generator's device."""
        return self.draw(n_sets, generator).batch

    def draw(self, n_sets: int, generator: Generator) -> MixtureDraw:
        """A batch of labelled sets and the parameters they were drawn from."""
        log_weight, labels, mask = compose(n_sets, self.n_max, self.k_max, generator)
        device = generator.device

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, device=device)

        mean = self.mean_scale * normal(n_sets, self.k_max, self.columns)
        log_scale = self.log_scale_mean + self.log_scale_spread * normal(*mean.shape)
        noise = normal(n_sets, self.n_max, self.columns)
        points = of_cluster(mean, labels) + of_cluster(log_scale.exp(), labels) * noise
        points = torch.where(mask[..., None], points, 0.0)
        return MixtureDraw(SetBatch(points, mask, labels), Gaussians(log_weight, mean, log_scale))
