"""Traits: what the rest of the package may know of a system."""

import math
from dataclasses import dataclass

from coterie.frames.protocol import FRAMES, FrameKind


@dataclass(frozen=True)
class Traits:
    """What a system needs and offers, whatever its configuration looks like.

    item_shape: the shape of one item, (D,) for the rows of a table, -1 where any size will do;
    density: the kind of density that a cluster has, None for systems without; cluster_scale: the
    standard deviation of a cluster in training, by which the evidence of a mixture is judged, None
    where it is unknown; k_max: the most clusters in a training set, None where nothing bounds them;
    frame: how a table becomes the network's input, "plain" for columns as they are, "standard" for
    standardised columns on their principal axes, fitted to every set anew; least_members: the
    fewest points of a cluster in training, by which smaller ones are known to be no clusters;
    least_share: the smallest share of a set that a cluster had there; most_leakage: by how much two
    clusters of an encoder's vectors may leak into each other (`functional/leakage.py`), 0 where the
    encoder has not learnt from neighbours;
    restarts: how often a system that draws at random is best run, by default; looks_again: whether
    its clusters are best shown to it again, two by two and alone.
    """

    item_shape: tuple[int, ...]
    density: str | None = None
    cluster_scale: float | None = None
    k_max: int | None = None
    frame: FrameKind = "plain"
    least_members: int = 1
    least_share: float = 0.0
    most_leakage: float = 0.0
    restarts: int = 1
    looks_again: bool = False

    def __post_init__(self) -> None:
        if self.frame not in FRAMES:
            raise ValueError(f"frame must be one of {', '.join(FRAMES)}, got {self.frame!r}")

    @property
    def reads_images(self) -> bool:
        """Whether an item is an image (C, H, W)."""
        return len(self.item_shape) == 3

    @property
    def reads(self) -> str:
        """What an item is, in words."""
        if self.reads_images:
            return f"images of {' x '.join(map(str, self.item_shape))}"
        return f"{self.columns} columns"

    @property
    def reads_pixels(self) -> bool:
        """Whether the columns of a table are the pixels of binary images, between 0 and 1."""
        return self.density == "neural_statistician"

    @property
    def image(self) -> tuple[int, ...] | None:
        """The shape (C, H, W) of the images that the system reads; None where it reads tables."""
        if self.reads_images:
            return self.item_shape
        side = math.isqrt(self.item_shape[0]) if self.reads_pixels else 0
        return (1, side, side) if side and side**2 == self.item_shape[0] else None

    @property
    def columns(self) -> int:
        """The width of the vectors that the system reads."""
        if len(self.item_shape) != 1:
            raise ValueError(f"items of shape {self.item_shape} are not rows of a table")
        return self.item_shape[0]
