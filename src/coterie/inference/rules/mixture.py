"""The posterior of a mixture of Gaussians as a rule."""

from dataclasses import dataclass

import torch
from scipy.special import chdtri
from torch import Tensor

from coterie.functional.em import Gaussians, expectation_by_columns
from coterie.mixtures.em import Mixture

RARE = 1e-4  # the share of a cluster's own points that may be taken for noise


@dataclass(frozen=True)
class MixtureRule:
    """The posterior of a mixture of Gaussians over the first columns of the points."""

    mixture: Gaussians

    @classmethod
    def of(cls, mixture: Mixture, device: str) -> "MixtureRule":
        """The rule of a mixture estimated in NumPy."""
        return cls(Gaussians(*(torch.from_numpy(part).to(device) for part in mixture)))

    @property
    def device(self) -> torch.device:
        return self.mixture.mean.device

    @property
    def n_clusters(self) -> int:
        return len(self.mixture.log_weight)

    def log_probabilities(self, points: Tensor) -> Tensor:
        return self._expectation(points)[0]

    def log_likelihood(self, points: Tensor) -> Tensor:
        """Log-density of each point: (M, D) -> (M,)."""
        return self._expectation(points)[1]

    def _expectation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        columns = self.mixture.mean.shape[-1]
        return expectation_by_columns(points[:, :columns].double(), self.mixture)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points outside the 1 - RARE probability region of every cluster."""
        columns = self.mixture.mean.shape[-1]
        points = points[:, :columns].double()
        nearest = points.new_full((len(points),), torch.inf)
        for mean, log_scale in zip(self.mixture.mean, self.mixture.log_scale, strict=True):
            distance = ((points - mean) * (-log_scale).exp()).square().sum(1)
            nearest = torch.minimum(nearest, distance)
        return nearest > chdtri(columns, RARE)  # squared distances are chi-square

    def select(self, clusters: Tensor) -> "MixtureRule":
        log_weight, mean, log_scale = (part[clusters] for part in self.mixture)
        return MixtureRule(Gaussians(log_weight.log_softmax(0), mean, log_scale))
