"""Gaussians with diagonal covariance."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from coterie.functional.em import gaussian_log_density

LEAST_SCALE = 1e-3


@dataclass(frozen=True)
class DiagonalGaussian:
    """A Gaussian in each of B sets: mean and log_scale (B, D), log of the standard deviation."""

    mean: Tensor
    log_scale: Tensor

    @classmethod
    def of_points(cls, points: Tensor) -> "DiagonalGaussian":
        """The maximum-likelihood Gaussian of points (N, D), with a floor on the scale."""
        scale = points.std(0, correction=0).clamp_min(LEAST_SCALE)
        return cls(points.mean(0)[None], scale.log()[None])

    def log_prob(self, points: Tensor) -> Tensor:
        columns = points.shape[-1]
        mean = self.mean[:, None, :columns].to(points)
        log_scale = self.log_scale[:, None, :columns].to(points)
        return gaussian_log_density(points, mean, log_scale)[..., 0]

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        shape = (len(self.mean), n, self.mean.shape[-1])
        noise = torch.randn(shape, generator=generator, device=self.mean.device).to(self.mean)
        return self.mean[:, None] + self.log_scale.exp()[:, None] * noise

    def refitted(self, points: Tensor) -> "DiagonalGaussian":
        return DiagonalGaussian.of_points(points)

    def of_sets(self, sets: slice) -> "DiagonalGaussian":
        return DiagonalGaussian(self.mean[sets], self.log_scale[sets])
