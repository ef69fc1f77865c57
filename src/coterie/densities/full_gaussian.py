"""Gaussians with full covariance."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from coterie.densities.protocol import NoMarginal


@dataclass(frozen=True)
class FullGaussian:
    """A Gaussian in each of B sets: mean (B, D) and factor (B, D, D).

    factor: the Cholesky factor of the covariance.
    """

    mean: Tensor
    factor: Tensor

    def log_prob(self, points: Tensor) -> Tensor:
        columns, width = points.shape[-1], self.mean.shape[-1]
        if columns != width:
            raise NoMarginal(f"the density is of {width} columns, the points have {columns}")
        mean, factor = self.mean.to(points), self.factor.to(points)
        apart = (points - mean[:, None]).mT
        squares = torch.linalg.solve_triangular(factor, apart, upper=False).square().sum(1)
        log_det = factor.diagonal(dim1=1, dim2=2).log().sum(1, keepdim=True)
        return -0.5 * (squares + width * math.log(2 * math.pi)) - log_det

    def sample(self, n: int, generator: Generator | None = None) -> Tensor:
        shape = (len(self.mean), n, self.mean.shape[-1])
        noise = torch.randn(shape, generator=generator, device=self.mean.device).to(self.mean)
        return self.mean[:, None] + noise @ self.factor.mT

    def refitted(self, points: Tensor) -> None:
        """Not from points alone: the covariances of a mixture share a shape."""

    def of_sets(self, sets: slice) -> "FullGaussian":
        return FullGaussian(self.mean[sets], self.factor[sets])
