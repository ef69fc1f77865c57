"""The configuration of a CHiGac network."""

from dataclasses import dataclass
from typing import Literal

from coterie.systems.items import ITEM_BOUNDS, ItemSettings
from coterie.systems.settings import COUNT, DEPTH, POSITIVE, SHARE, Bounds, check_settings
from coterie.systems.traits import Traits

InferenceName = Literal["ai", "semi-ai", "iai", "svi-ai", "eai"]
DrawKind = Literal["mode", "joint"]

BOUNDS = {
    **ITEM_BOUNDS,
    "width": COUNT,
    "frequencies": Bounds(0, 16),
    "point_layers": DEPTH,
    "heads": COUNT,
    "slots": COUNT,
    "cluster_slots": COUNT,
    "encoder_blocks": DEPTH,
    "latent": COUNT,
    "read_width": COUNT,
    "prototypes": COUNT,
    "temperature": POSITIVE,
    "sigma": POSITIVE,
    "inner_steps": Bounds(0, 1000),
    "inner_rate": POSITIVE,
    "samples": COUNT,
    "doubt": SHARE,
    "k_max": COUNT,
    "cluster_scale": POSITIVE,
}


@dataclass(frozen=True)
class CHiGacConfig(ItemSettings):
    """Sizes of the network, its variational inference, and up to k_max clusters in training.

    width: of the embeddings e; frequencies: of the Fourier features of each column; point_layers:
    hidden layers of a perceptron of each point before the set is seen; heads: of attention; slots:
    in which the points without a cluster are summarised, and cluster_slots: in which a cluster is;
    encoder_blocks: induced blocks over the whole set.

    latent: the length of z, the representation of a cluster (D_1); read_width: the hidden layer
    that decides on a point; prototypes: how many steps have a learnt prototype of their own, later
    ones share the last; temperature: tau of eq. 11 and 13; sigma: sigma_0 of eq. 14.

    inference: how the variational parameters are optimised in training, by inner_steps (M) steps of
    inner_rate; samples: L of eq. 10, draws of z that are averaged; draws: whether the most probable
    clusters are found or one partition is drawn, "joint"; doubt: a point that earlier clusters
    would have taken with a larger probability than this begins no cluster.

    cluster_scale: the standard deviation of a cluster in training.
    """

    width: int = 64
    frequencies: int = 0
    point_layers: int = 0
    heads: int = 4
    slots: int = 16
    cluster_slots: int = 2
    encoder_blocks: int = 2
    latent: int = 64
    read_width: int = 32
    prototypes: int = 3
    temperature: float = 0.1
    sigma: float = 0.1
    inference: InferenceName = "eai"
    inner_steps: int = 10
    inner_rate: float = 0.1
    samples: int = 16
    draws: DrawKind = "mode"
    doubt: float = 0.1
    k_max: int = 4
    cluster_scale: float = 0.25

    def __post_init__(self) -> None:
        self.take_lists()
        check_settings(self, BOUNDS)
        self.check_items()
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads must divide the width, {self.width}")

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        return Traits(
            self.item_shape,
            k_max=self.k_max,
            least_members=self.least_members,
            least_share=self.least_share,
            most_leakage=self.most_leakage,
            # Measured: activities and documents alone look like several clusters.
            looks_again=not self.image and self.columns == 2,
        )
