"""Mixtures of Gaussians whose centres may lie close together, as neighbours among many clusters."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians, of_cluster


@dataclass(frozen=True)
class CrowdedMixtures(MixtureOfGaussians):
    """The mixtures of eq. 13, most of them in a part of the plane.

    The centres of a set are spread by narrowest to 1 times `mean_scale`, log-uniformly, around a
    place of its own; over all sets they have the distribution of eq. 13. A set of four clusters
    then looks as four neighbours among a dozen do.
    """

    narrowest: float = 0.3

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets, on the generator's device."""
        batch, mixture = self.draw(n_sets, generator)
        device = generator.device

        def random(kind: str, *shape: int) -> Tensor:
            draw = torch.rand if kind == "uniform" else torch.randn
            return draw(shape, generator=generator, device=device)

        share = (math.log(self.narrowest) * random("uniform", n_sets, 1, 1)).exp()
        place = self.mean_scale * (1 - share.square()).sqrt() * random("normal", n_sets, 1, 2)
        assert batch.labels is not None
        moved = place + (share - 1) * of_cluster(mixture.mean, batch.labels)
        points = torch.where(batch.mask[..., None], batch.points + moved, 0.0)
        return SetBatch(points, batch.mask, batch.labels)
