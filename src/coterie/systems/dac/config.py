"""The configuration of a DAC network."""

from dataclasses import dataclass
from typing import Literal

from coterie.systems.settings import COUNT, DEPTH, POSITIVE, SHARE, Bounds, check_settings
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
    "context": Bounds(1, 4096),
    "latent": Bounds(2, 1024),
    "flow_blocks": Bounds(1, 16),
    "flow_width": Bounds(1, 1024),
    "cluster_scale": POSITIVE,
    "min_share": SHARE,
}


@dataclass(frozen=True)
class DACConfig:
    """Shape of the network, and what its training sets look like: up to k_max clusters.

    density: what describes a cluster beside its members, None for nothing (eq. 9);
    context: the length of the vector that a flow or a statistician is told of a cluster
    (appendices D, E); latent: that of the vector behind an item of a statistician; flow_blocks: how
    many MADEs a flow has, flow_width: how wide their two hidden layers are;
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
    context: int = 128
    latent: int = 64
    flow_blocks: int = 4
    flow_width: int = 128
    cluster_scale: float = 0.25
    min_share: float = 0.02

    def __post_init__(self) -> None:
        check_settings(self, BOUNDS)
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width")
        if self.density == "maf" and self.columns < 2:
            raise ValueError("a flow orders the columns: density 'maf' needs 2 columns or more")

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        scale = self.cluster_scale if self.density == "gaussian" else None
        return Traits((self.columns,), self.density, scale, self.k_max)
