"""The configuration of a DAC network."""

from dataclasses import dataclass
from typing import Literal

from coterie.systems.items import ITEM_BOUNDS, ItemSettings
from coterie.systems.settings import COUNT, DEPTH, POSITIVE, SHARE, Bounds, check_settings
from coterie.systems.traits import Traits

FilteringKind = Literal["minimum_loss", "anchored"]
AnchorKind = Literal["random", "promise"]
DensityKind = Literal["gaussian", "maf", "neural_statistician"]
BOUNDS = {
    **ITEM_BOUNDS,
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
    "questions": Bounds(1, 1024),
    "proposals": Bounds(1, 1024),
    "refinements": DEPTH,
    "read_width": Bounds(0, 100_000),
    "restarts": Bounds(1, 1024),
}


@dataclass(frozen=True)
class DACConfig(ItemSettings):
    """Shape of the network, and what its training sets look like: up to k_max clusters.

    filtering: which cluster a step finds, the one that is easiest to find (eq. 5 and 6) or that of
    an anchor (eq. 7 and 8);
    density: what describes a cluster beside its members, None for nothing (eq. 9);
    context: the length of the vector that a flow or a statistician is told of a cluster
    (appendices D, E); latent: that of the vector behind an item of a statistician; flow_blocks: how
    many MADEs a flow has, flow_width: how wide their two hidden layers are;
    cluster_scale: the standard deviation of a cluster there, for Gaussian clusters;
    min_share: when no membership passes 0.5 the loop ends, unless more than this share of the set
    is left.

    Of anchored filtering: anchor: which remaining point a step starts from, drawn uniformly or the
    one whose cluster the network promises to find best; proposals: how many anchors a step
    compares, of which the surest wins; restarts: how often a set is best clustered from other
    random anchors, of which the most probable run counts; questions: how many anchors each training
    set has.
    Beyond eq. 8: read_width: the width of what follows the anchor, 0 for `width`; comparison:
    whether points and anchor are also multiplied and compared by the cosine of their vectors;
    refinements: how often the anchor is replaced by the mean of the points that it claimed;
    encode_once: whether points are encoded for all steps at once instead of in each step.
    """

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
    filtering: FilteringKind = "minimum_loss"
    anchor: AnchorKind = "random"
    proposals: int = 1
    questions: int = 1
    read_width: int = 0
    comparison: bool = False
    refinements: int = 0
    encode_once: bool = False
    restarts: int = 1

    def __post_init__(self) -> None:
        self.take_lists()
        check_settings(self, BOUNDS)
        self.check_items()
        if self.width % self.heads or self.read_width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width and read_width")
        if self.read_width and self.density is not None:
            raise ValueError("a density is read from vectors of full width: read_width must be 0")
        if self.density == "maf" and self.columns < 2:
            raise ValueError("a flow orders the columns: density 'maf' needs 2 columns or more")
        self._check_filtering()

    def _check_filtering(self) -> None:
        if self.filtering == "anchored":
            return
        plain = DACConfig.__dataclass_fields__
        names = ("anchor", "proposals", "questions", "read_width", "comparison", "refinements")
        for name in (*names, "encode_once"):
            if getattr(self, name) != plain[name].default:
                raise ValueError(f'{name} needs filtering="anchored"')

    @property
    def traits(self) -> Traits:
        """What the rest of the package may know of such a network."""
        scale = self.cluster_scale if self.density == "gaussian" else None
        return Traits(
            self.item_shape,
            self.density,
            scale,
            self.k_max,
            least_members=self.least_members,
            least_share=self.least_share,
            most_leakage=self.most_leakage,
            restarts=self.restarts,
        )
