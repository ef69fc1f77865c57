"""The configuration of an ACT-ST network."""

from dataclasses import dataclass

from coterie.systems.items import ITEM_BOUNDS, ItemSettings
from coterie.systems.settings import COUNT, DEPTH, POSITIVE, Bounds, check_settings
from coterie.systems.traits import Traits

BOUNDS = {
    **ITEM_BOUNDS,
    "width": COUNT,
    "heads": COUNT,
    "slots": COUNT,
    "encoder_blocks": DEPTH,
    "decoder_blocks": DEPTH,
    "k_max": Bounds(1, 256),  # memory grows with its cube
    "further_steps": Bounds(0, 256),
    "cluster_scale": POSITIVE,
}


@dataclass(frozen=True)
class ACTSTConfig(ItemSettings):
    """Shape of the network, and what its training sets look like: up to k_max clusters.

    encoder_blocks: L; decoder_blocks: L'; further_steps: how many clusters beyond k_max it may
    decode where it does not stop; cluster_scale: the standard deviation of a cluster in training.
    """

    width: int = 128
    heads: int = 4
    slots: int = 32
    encoder_blocks: int = 2
    decoder_blocks: int = 2
    k_max: int = 4
    further_steps: int = 12
    cluster_scale: float = 0.25

    def __post_init__(self) -> None:
        self.take_lists()
        check_settings(self, BOUNDS)
        self.check_items()
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width")

    @property
    def step_limit(self) -> int:
        """The most clusters that the network decodes."""
        return self.k_max + self.further_steps

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        return Traits(
            self.item_shape,
            "gaussian",
            self.cluster_scale,
            self.k_max,
            least_members=self.least_members,
            least_share=self.least_share,
            most_leakage=self.most_leakage,
        )
