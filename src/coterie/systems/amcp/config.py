"""What decides an AMCP network: its shape, how it mixes, and how it is taught."""

from dataclasses import dataclass
from typing import Literal

from coterie.functional.mixing import E_STEPS, EStep
from coterie.layers.mlp import ACTIVATIONS, Activation

Proposal = Literal["seed", "anchor"]
LEAST = {"encode_every": 0, "frequencies": 0, "landmarks": 0, "questions": 1, "proposals": 1}


@dataclass(frozen=True)
class AMCPConfig:
    """Shape of the network, how it mixes, and how it is taught.

    encode_every: after how many clusters the points that remain are encoded anew, 0 for one
    encoding for all clusters; decoder_blocks: mixing under the light of a proposed cluster;
    proposal: where the next cluster comes from, a learnt seed (any cluster, the easiest counts) or
    a point, the anchor (its own cluster; the network says which points promise well);
    coupling: whether finished clusters condition the next proposal (InterCC); density: whether a
    cluster has a mean and a scale, or is whatever its members have in common; cluster_scale: the
    scale of the imaginary point that steadies a cluster's moments; questions: how many clusters of
    a training set are asked for, one after another from the seed, at once from anchors;
    activation: of the perceptrons, of which `relu` is much the quicker on a CPU;
    frequencies: how many sines and cosines stand beside each coordinate; landmarks: how many points
    random walks lead to and from, 0 for none; leaps: whether there are leaps beside the walks, as
    far as one likes over no wide gap; unheard: in how many training sets both say nothing;
    overlap_weight: what a cluster that is not matched costs beside its single points; proposals:
    how many anchors a step compares, of which the surest wins.
    """

    columns: int = 2
    width: int = 128
    heads: int = 4
    activation: Activation = "gelu"
    frequencies: int = 0
    landmarks: int = 0
    leaps: bool = False
    unheard: float = 0.0
    references: int = 32
    em_steps: int = 3
    e_step: EStep = "column"
    encoder_blocks: int = 2
    decoder_blocks: int = 1
    read_width: int = 128
    refinements: int = 2
    encode_every: int = 1
    proposal: Proposal = "seed"
    coupling: bool = False
    density: Literal["gaussian", "none"] = "gaussian"
    cluster_scale: float = 0.25
    k_max: int = 4
    questions: int = 1
    overlap_weight: float = 0.0
    proposals: int = 1
    min_share: float = 0.002

    def __post_init__(self) -> None:
        if self.e_step not in E_STEPS:
            raise ValueError(f"e_step must be one of {', '.join(E_STEPS)}, got {self.e_step!r}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}"
            )
        if self.density not in ("gaussian", "none"):
            raise ValueError(f"density must be gaussian or none, got {self.density!r}")
        if self.proposal not in ("seed", "anchor"):
            raise ValueError(f"proposal must be seed or anchor, got {self.proposal!r}")
        if self.width % self.heads or self.read_width % self.heads:
            raise ValueError(f"{self.heads} heads must divide width and read_width")
        if self.coupling and self.proposal == "seed" and self.questions < 2:
            raise ValueError("coupling is learnt over several steps: questions must be 2 or more")
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be {least} or more, got {getattr(self, name)}")
        if not 0 <= self.unheard <= 1:
            raise ValueError(f"unheard is a share of the sets, 0 to 1, got {self.unheard}")
        if self.proposals > 1 and (self.proposal == "seed" or self.decoder_blocks):
            raise ValueError("several proposals are compared from anchors, without a decoder")
        if self.landmarks and self.proposal == "seed":
            raise ValueError("walks start from anchors: landmarks need proposal 'anchor'")
        if self.leaps and not self.landmarks:
            raise ValueError("leaps lead from landmark to landmark: they need landmarks")
        if self.landmarks and self.encode_every:
            raise ValueError("walks lead over all points: landmarks need encode_every 0")
