"""The configuration of an AMCP network: its shape, how it mixes, and how it is trained."""

from dataclasses import dataclass
from typing import Literal

from coterie.functional.mixing import EStep
from coterie.layers.mlp import Activation
from coterie.systems.items import ITEM_BOUNDS, ItemSettings
from coterie.systems.settings import COUNT, DEPTH, POSITIVE, SHARE, Bounds, check_settings
from coterie.systems.traits import Traits

ProposalKind = Literal["seed", "anchor"]
BOUNDS = {
    **ITEM_BOUNDS,
    "width": COUNT,
    "heads": COUNT,
    "frequencies": Bounds(0, 32),
    "landmarks": Bounds(0, 4096),  # walks between them take the square of it in memory
    "walk_dropout": SHARE,
    "references": COUNT,
    "em_steps": DEPTH,
    "encoder_blocks": DEPTH,
    "decoder_blocks": DEPTH,
    "read_width": COUNT,
    "refinements": DEPTH,
    "encode_every": Bounds(0, 100_000),
    "cluster_scale": POSITIVE,
    "k_max": COUNT,
    "questions": Bounds(1, 1024),
    "overlap_weight": Bounds(0, 1e6),
    "density_weight": Bounds(0, 1e6),
    "proposals": Bounds(1, 1024),
    "min_share": SHARE,
}


@dataclass(frozen=True)
class AMCPConfig(ItemSettings):
    """Shape of the network, how it mixes, and how it is trained.

    encode_every: after how many clusters the remaining points are encoded again, 0 for a single
    encoding; decoder_blocks: mixing conditioned on the proposed cluster; proposal: what the next
    cluster starts from, a learnt seed (any cluster may follow, the loss is the minimum over the
    clusters) or a point, the anchor (its own cluster follows; the network scores the anchors);
    coupling: whether finished clusters condition the next proposal (InterCC); density: whether a
    cluster has a mean and a scale; cluster_scale: the standard deviation of a cluster in training,
    also that of the pseudo-point that regularises a cluster's moments; questions: the number of
    queries for each training set, in sequence from the seed, in parallel from anchors;
    activation: of the perceptrons, `relu` is much the fastest on a CPU; frequencies: the number of
    Fourier features of each coordinate; landmarks: the number of landmark points between which
    random walks run, 0 for none; leaps: whether single-linkage gaps accompany the walks;
    walk_dropout: the share of training sets in which walks and leaps are masked; overlap_weight:
    the weight of the overlap loss of whole clusters; density_weight: that of the likelihood of the
    clusters, which in many columns would outweigh the memberships; proposals: how many anchors a
    step compares, of which the most decided wins; comparison: whether memberships also depend on
    the angle between a point and its cluster, at first the anchor, for vectors whose angles say
    what is alike; min_share: the share of a set below which an undecided rest is left over.
    """

    width: int = 128
    heads: int = 4
    activation: Activation = "gelu"
    frequencies: int = 0
    landmarks: int = 0
    leaps: bool = False
    walk_dropout: float = 0.0
    references: int = 32
    em_steps: int = 3
    e_step: EStep = "column"
    encoder_blocks: int = 2
    decoder_blocks: int = 1
    read_width: int = 128
    refinements: int = 2
    encode_every: int = 1
    proposal: ProposalKind = "seed"
    coupling: bool = False
    density: Literal["gaussian", "none"] = "gaussian"
    cluster_scale: float = 0.25
    k_max: int = 4
    questions: int = 1
    overlap_weight: float = 0.0
    density_weight: float = 1.0
    proposals: int = 1
    comparison: bool = False
    min_share: float = 0.002

    def __post_init__(self) -> None:
        self.take_lists()
        check_settings(self, BOUNDS)
        self.check_items()
        if self.width % self.heads or self.read_width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width and read_width")
        if self.coupling and self.proposal == "seed" and self.questions < 2:
            raise ValueError("coupling is learnt over several steps: questions must be 2 or more")
        if self.proposals > 1 and (self.proposal == "seed" or self.decoder_blocks):
            raise ValueError("several proposals are compared from anchors, without a decoder")
        if self.comparison and (self.proposal == "seed" or self.density == "none"):
            raise ValueError(
                "comparison is with an anchor's place: it needs proposal 'anchor' and a density"
            )
        if self.landmarks and self.proposal == "seed":
            raise ValueError("walks start from anchors: landmarks need proposal 'anchor'")
        if self.leaps and not self.landmarks:
            raise ValueError("leaps are defined between landmarks: they need landmarks")
        if self.landmarks and self.encode_every:
            raise ValueError("walks cover all points: landmarks need encode_every 0")

    @property
    def traits(self) -> Traits:
        """The properties of such a network that the rest of the package uses."""
        located = self.density != "none"
        return Traits(
            self.item_shape,
            self.density if located else None,
            self.cluster_scale if located else None,
            self.k_max,
            least_members=self.least_members,
            least_share=self.least_share,
            most_leakage=self.most_leakage,
        )
