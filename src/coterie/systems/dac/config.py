"""The configuration of a DAC network."""

from dataclasses import dataclass
from typing import Literal

from coterie.systems.settings import COUNT, DEPTH, POSITIVE, SHARE, check_settings
from coterie.systems.traits import Traits

DensityKind = Literal["gaussian", "maf", "neural_statistician"]
BOUNDS = {
    "columns": COUNT,
    "width": COUNT,
    "heads": COUNT,
    "slots": COUNT,
    "encoder_blocks": DEPTH,
    "decoder_blocks": DEPTH,
    "k_max": COUNT,
    "cluster_scale": POSITIVE,
    "min_share": SHARE,
}


@dataclass(frozen=True)
class DACConfig:
    """Shape of the network, and what its training sets look like: up to k_max clusters.

    density: what describes a cluster beside its members, None for nothing (eq. 9);
    cluster_scale: the standard deviation of a cluster there, for Gaussian clusters;
    min_share: when no membership passes 0.5 the loop ends, unless more than this share of the set
    is left.
    """

    columns: int = 2
    width: int = 128
    heads: int = 4
    slots: int = 32
    encoder_blocks: int = 2
    decoder_blocks: int = 2
    k_max: int = 4
    density: DensityKind | None = "gaussian"
    cluster_scale: float = 0.25
    min_share: float = 0.02

    def __post_init__(self) -> None:
        check_settings(self, BOUNDS)
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width")

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        scale = self.cluster_scale if self.density == "gaussian" else None
        return Traits((self.columns,), self.density, scale, self.k_max)
