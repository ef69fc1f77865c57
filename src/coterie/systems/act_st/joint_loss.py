"""ACT-ST: a set transformer with adaptive computation time (DAC, appendix A; AMCP, A.4)."""

from dataclasses import replace
from typing import Any

from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.functional.em import Gaussians, expectation
from coterie.functional.matching import present_clusters
from coterie.functional.reduce import masked_mean
from coterie.functional.stopping import n_steps_taken, stopping_loss
from coterie.systems.act_st.config import ACTSTConfig
from coterie.systems.act_st.network import MixtureNetwork
from coterie.systems.items import ItemSystem
from coterie.systems.protocol import Memberships, require_labels
from coterie.systems.traits import Traits


class ACTST(ItemSystem):
    """The network as a direct system: one mixture of diagonal Gaussians for a whole set."""

    name = "act_st"
    config: ACTSTConfig

    def __init__(self, config: ACTSTConfig) -> None:
        super().__init__(config)
        self.network = MixtureNetwork(config)

    @property
    def traits(self) -> Traits:
        return replace(self.config.traits, frame=self.frame)

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        if self.item_encoder is None:
            return ((self, "loss"),)
        return (*self.encoder_regions, (self.network, "forward"))

    def cluster(self, batch: SetBatch, generator: Generator | None = None) -> Memberships:
        """The mixture of the step at which the network stops, s_k > 1/2, or of the last one."""
        batch = self.as_vectors(batch)
        decoded = self.network(batch.points, batch.mask, self.config.step_limit)
        mixture = decoded.at(n_steps_taken(decoded.going_on))
        return Memberships(self.read(batch.points, mixture), tuple(mixture), mixture)

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        return expectation(points, Gaussians(*memory))[0]

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """Eq. 12, averaged over the sets: the likelihood at the true number, and when to stop.

        The log-likelihood is the mean over the points, where eq. 12 has the sum: with hundreds of
        points the sum would leave the stop no weight, and it would depend on the size of a set.
        """
        labels, k_max = require_labels(batch), self.config.k_max
        n_clusters = present_clusters(labels, batch.mask, k_max).sum(1).clamp_min(1)  # (B,)
        decoded = self.network(batch.points, batch.mask, k_max)
        _, log_likelihood = expectation(batch.points, decoded.at(n_clusters))
        likelihood = masked_mean(log_likelihood, batch.mask)
        return (stopping_loss(decoded.going_on, n_clusters) - likelihood).mean()
