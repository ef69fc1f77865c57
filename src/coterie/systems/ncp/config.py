"""The configuration of an NCP network."""

from dataclasses import dataclass

from coterie.systems.items import ITEM_BOUNDS, ItemSettings
from coterie.systems.settings import COUNT, DEPTH, POSITIVE, check_settings
from coterie.systems.traits import Traits

BOUNDS = {
    **ITEM_BOUNDS,
    "width": COUNT,
    "point_width": COUNT,
    "cluster_width": COUNT,
    "layers": DEPTH,
    "most_waiting": COUNT,
    "k_max": COUNT,
    "cluster_scale": POSITIVE,
}


@dataclass(frozen=True)
class NCPConfig(ItemSettings):
    """Sizes of the four perceptrons (AMCP, appendix C.1), and up to k_max clusters in training.

    width: of their hidden layers, of which each has this many layers; point_width: what h and u
    make of a point; cluster_width: what g makes of a cluster; most_waiting: the points of a set
    that wait for a seat count as if the set had no more points than this, as many as in training;
    cluster_scale: the standard deviation of a cluster in training.
    """

    width: int = 256
    layers: int = 3
    point_width: int = 128
    cluster_width: int = 256
    most_waiting: int = 100
    k_max: int = 4
    cluster_scale: float = 0.25

    def __post_init__(self) -> None:
        self.take_lists()
        check_settings(self, BOUNDS)
        self.check_items()

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        return Traits(
            self.item_shape,
            k_max=self.k_max,
            least_members=self.least_members,
            least_share=self.least_share,
            most_leakage=self.most_leakage,
        )
