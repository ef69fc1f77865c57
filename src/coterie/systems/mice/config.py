"""The configurations of MoCo and MiCE; the defaults are the paper's (MiCE, appendix D)."""

from dataclasses import dataclass, replace
from typing import Literal

from coterie.encoders.resnet import Backbone
from coterie.systems.settings import COUNT, POSITIVE, SHARE, Bounds, check_settings
from coterie.systems.traits import Traits

BOUNDS = {
    "std": POSITIVE,
    "shape": COUNT,
    "width": COUNT,
    "queue": Bounds(1, 10_000_000),
    "temperature": POSITIVE,
    "momentum": SHARE,
    "sgd_momentum": SHARE,
    "weight_decay": SHARE,
    "n_clusters": Bounds(1, 1000),
    "gate_temperature": POSITIVE,
}


@dataclass(frozen=True, kw_only=True)
class MoCoConfig:
    """A student, a teacher that is its moving average, and a queue of the teacher's embeddings.

    mean, std: of each channel of the images, for pixels in [0, 1]; shape: their height and width,
    nothing where any size will do; width: D, the dimension of an embedding; momentum: of the
    teacher's moving average; sgd_momentum, weight_decay: of the optimizer.
    """

    backbone: Backbone = "resnet34"
    mean: tuple[float, ...] = (0.4914, 0.4822, 0.4465)
    std: tuple[float, ...] = (0.2470, 0.2435, 0.2616)
    shape: tuple[int, ...] = ()
    width: int = 128
    queue: int = 16_384
    temperature: float = 1.0
    momentum: float = 0.999
    sgd_momentum: float = 0.9
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("mean", "std", "shape"):  # JSON cards hold lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_settings(self, BOUNDS)
        if not self.mean:
            raise ValueError("mean and std are of one channel or more")
        if len(self.mean) != len(self.std):
            raise ValueError(f"mean has {len(self.mean)} channels, std {len(self.std)}")
        if len(self.shape) not in (0, 2):
            raise ValueError(f"shape must be a height and a width, or empty, got {self.shape}")

    @property
    def traits(self) -> Traits:
        """The properties that the rest of the package uses: the shape of an image."""
        return Traits((len(self.mean), *(self.shape or (-1, -1))))


@dataclass(frozen=True, kw_only=True)
class MiCEConfig(MoCoConfig):
    """MoCo's settings, K experts and a gate; the last six settings are the ablations of Table 3.

    gate: "uniform" is (1), assumption A3; single_head: (2), A4; class_term: without it (4), A5;
    analytical_update: without it (a), eq. 13 is not used; prototype_gradient: without it (b), the
    prototypes change by eq. 13 alone; gating_prototypes: centres of the Max-Mahalanobis
    distribution, (c) fixed random directions, or (d) such centres, trained.
    """

    n_clusters: int = 10
    gate_temperature: float = 1.0
    gate: Literal["input", "uniform"] = "input"
    single_head: bool = False
    class_term: bool = True
    analytical_update: bool = True
    prototype_gradient: bool = True
    gating_prototypes: Literal["centres", "random", "learnt"] = "centres"

    @property
    def traits(self) -> Traits:
        """MoCo's traits, with the number of experts."""
        return replace(super().traits, k_max=self.n_clusters)


MOST_CLUSTERS = MiCEConfig.width + 1  # that can be equally far apart, see Algorithm 2
