"""The rule of a mixture of Gaussians with full covariances: the posterior for any point."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import chdtri
from torch import Tensor

from coterie.mixtures.gaussians import FullMixture

RARE = 1e-4  # the share of a cluster's own points that may be taken for noise


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
        return self._log_joint(points).log_softmax(1)

    def log_likelihood(self, points: Tensor) -> Tensor:
        """Log-density of each point: (M, D) -> (M,)."""
        return self._log_joint(points).logsumexp(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points outside the 1 - RARE probability region of every cluster."""
        nearest = self._squares(points).amin(1)
        return nearest > chdtri(self.mean.shape[1], RARE)  # squared distances are chi-square

    def select(self, clusters: Tensor) -> "FullMixtureRule":
        log_weight = self.log_weight[clusters].log_softmax(0)
        return FullMixtureRule(log_weight, self.mean[clusters], self.whitening[clusters])

    def _log_joint(self, points: Tensor) -> Tensor:
        """log pi_j + log N(x_i; j): (M, K)."""
        log_det = self.whitening.diagonal(dim1=1, dim2=2).log().sum(1)
        constant = self.log_weight + log_det - 0.5 * self.mean.shape[1] * math.log(2 * math.pi)
        return constant - 0.5 * self._squares(points)

    def _squares(self, points: Tensor) -> Tensor:
        """Squared Mahalanobis distances: (M, K), one component after another to save memory."""
        points = points[:, : self.mean.shape[1]].double()
        squares = [
            ((points - mean) @ whitening.T).square().sum(1)
            for mean, whitening in zip(self.mean, self.whitening, strict=True)
        ]
        return torch.stack(squares, 1)
