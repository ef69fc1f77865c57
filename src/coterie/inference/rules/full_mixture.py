"""The rule of a mixture of Gaussians with full covariances: the posterior for any point."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import chdtri
from torch import Tensor

from coterie.mixtures.gaussians import FullMixture

RARE = 1e-4  # the share of a cluster's own points that may be taken for noise
CACHED = 262_144  # coordinates of whitened points at a time: more leave the cache of a CPU


@dataclass(frozen=True)
class FullMixtureRule:
    """The posterior of K Gaussians over the first D columns of the points.

    log_weight: (K,); mean: (K, D); whitening: (K, D, D), the inverse of each covariance's Cholesky
    factor.
    """

    log_weight: Tensor
    mean: Tensor
    whitening: Tensor

    @classmethod
    def of(cls, mixture: FullMixture, device: str) -> "FullMixtureRule":
        """The rule of a mixture estimated in NumPy."""
        whitening = np.linalg.inv(np.linalg.cholesky(mixture.covariance))
        parts = mixture.log_weight, mixture.mean, whitening
        return cls(*(torch.from_numpy(part).to(device) for part in parts))

    @property
    def device(self) -> torch.device:
        return self.mean.device

    @property
    def n_clusters(self) -> int:
        return len(self.log_weight)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return torch.cat([joint.log_softmax(0).T for joint in self._log_joints(points)])

    def log_likelihood(self, points: Tensor) -> Tensor:
        """Log-density of each point: (M, D) -> (M,)."""
        return torch.cat([joint.logsumexp(0) for joint in self._log_joints(points)])

    def unwanted(self, points: Tensor) -> Tensor:
        """Points outside the 1 - RARE probability region of every cluster."""
        nearest = torch.cat([squares.amin(0) for squares in self._squares(points)])
        return nearest > chdtri(self.mean.shape[1], RARE)  # squared distances are chi-square

    def select(self, clusters: Tensor) -> "FullMixtureRule":
        log_weight = self.log_weight[clusters].log_softmax(0)
        return FullMixtureRule(log_weight, self.mean[clusters], self.whitening[clusters])

    @property
    def log_constant(self) -> Tensor:
        """log pi_j + log N(mean_j; j): (K,)."""
        log_det = self.whitening.diagonal(dim1=1, dim2=2).log().sum(1)
        return self.log_weight + log_det - 0.5 * self.mean.shape[1] * math.log(2 * math.pi)

    def _log_joints(self, points: Tensor) -> Iterator[Tensor]:
        """log pi_j + log N(x_i; j), chunk by chunk: (K, m)."""
        constant = self.log_constant[:, None]
        return (constant - 0.5 * squares for squares in self._squares(points))

    def _squares(self, points: Tensor) -> Iterator[Tensor]:
        """Squared Mahalanobis distances, chunk by chunk: (K, m)."""
        n_clusters, width = self.mean.shape
        whitening = self.whitening.reshape(-1, width)  # (K D, D)
        shift = (self.whitening @ self.mean[..., None]).reshape(-1, 1)
        size = max(CACHED // len(whitening), 1) if points.device.type == "cpu" else len(points)
        for part in points[:, :width].split(max(size, 1)):
            whitened = torch.addmm(shift, whitening, part.T.double(), beta=-1)  # (K D, m)
            yield whitened.square_().view(n_clusters, width, -1).sum(1)
