"""Sets of images for systems that read sets of vectors: an encoder in front, configured alike.

With an `embedding` the encoder and the set network learn apart: the encoder from the neighbours of
its vectors, the set network from where each set's vectors lie on the set's own principal axes. No
axis means a class, so none can be learnt by heart. Without one, both learn from the set's loss.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Generator, Tensor, autocast, nn

from coterie.data.batch import SetBatch
from coterie.encoders.images import EncoderName, ItemEncoder, make_encoder
from coterie.encoders.protocol import encode_sets
from coterie.frames.protocol import FrameKind
from coterie.functional.loosening import loosened
from coterie.functional.neighbours import neighbour_loss
from coterie.functional.principal import iterated_axes, on_axes, principal_axes
from coterie.systems.protocol import require_labels
from coterie.systems.settings import COUNT, SHARE, Bounds

ITEMS_AT_ONCE = 4096
ITEM_BOUNDS = {
    "columns": COUNT,
    "image": COUNT,
    "convolutions": COUNT,
    "embedding": Bounds(0, 100_000),
    "neighbour_weight": Bounds(0, 1e6),
    "looseness": Bounds(0, 10),
    "least_members": COUNT,
    "least_share": SHARE,
    "most_leakage": SHARE,
}
OF_IMAGES = (
    "embedding",
    "neighbour_weight",
    "mix_columns",
    "looseness",
    "most_leakage",
    "spherical",
)


@dataclass(frozen=True)
class ItemSettings:
    """What the points of a set are: vectors of some columns, or images that are encoded as such.

    image: their shape (C, H, W), empty for sets of vectors; backbone: of the encoder; convolutions:
    the channels of the stages of the one called "conv"; towers: several such networks side by
    side instead, each by its channels and the length of its vectors; embedding: the length of an
    image's vector, of which the set network reads `columns` principal axes of the set, 0: the
    encoder's vectors have `columns` themselves; spherical: whether all vectors have one length on
    these axes; neighbour_weight: the weight of a loss on the
    vectors alone; mix_columns: whether a training set's columns are permuted and their signs
    flipped, so that the set network cannot learn classes by heart; looseness: up to how many times
    a cluster of a training set is stretched about its mean, 0 for never; set_statistics: whether a
    set is encoded by its own batch statistics in training, or all sets of a step by theirs;
    least_members, least_share: the fewest points of a cluster in training, and the smallest share
    of its set; most_leakage: by how much clusters may leak into each other at the end (`Traits`).
    """

    columns: int = 2
    image: tuple[int, ...] = ()
    backbone: EncoderName = "conv"
    convolutions: tuple[int, ...] = (64, 128, 256)
    towers: tuple[tuple[int, ...], ...] = ()
    embedding: int = 0
    spherical: bool = False
    neighbour_weight: float = 0.0
    mix_columns: bool = False
    looseness: float = 0.0
    set_statistics: bool = True
    least_members: int = 1
    least_share: float = 0.0
    most_leakage: float = 0.0

    def take_lists(self) -> None:
        """Tuples of the lists that JSON cards hold."""
        for name in ("image", "convolutions"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "towers", tuple(tuple(tower) for tower in self.towers))

    def check_items(self) -> None:
        """Refuse settings of images that do not go together."""
        if self.image and len(self.image) != 3:
            raise ValueError(f"image must be channels, height and width, got {self.image}")
        for name in OF_IMAGES:
            if getattr(self, name) and not self.image:
                raise ValueError(f"{name} is for images: it needs the setting image")
        if self.embedding and self.embedding < self.columns:
            raise ValueError(
                f"vectors of {self.embedding} have no {self.columns} principal axes: embedding must"
                " be at least columns"
            )
        widths = sum(width for *_, width in self.towers)
        if self.towers and widths != self.embedding:
            raise ValueError(f"the towers' vectors have {widths} numbers, embedding must be that")
        if self.looseness and not self.embedding:
            raise ValueError("looseness needs an embedding, whose encoder does not learn from it")
        if self.spherical and not self.embedding:
            raise ValueError("spherical needs an embedding, on whose axes vectors have one length")

    @property
    def item_shape(self) -> tuple[int, ...]:
        """The shape of one item of a set."""
        return self.image or (self.columns,)


class Taught(NamedTuple):
    """Sets of vectors to learn from, and the encoder's own loss, a scalar."""

    batch: SetBatch
    loss: Tensor


class ItemSystem(nn.Module):
    """A system of sets of vectors, with an encoder in front where its items are images."""

    frame: FrameKind = "plain"  # that of training
    item_encoder: ItemEncoder | None

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.item_encoder = None
        if config.image:
            width = config.embedding or config.columns
            self.item_encoder = make_encoder(
                config.backbone, config.image, config.convolutions, width, config.towers
            )

    @property
    def n_axes(self) -> int:
        """How many principal axes of a set of images the network reads; 0: it reads vectors."""
        return self.config.columns if self.config.embedding else 0

    def placed(self, vectors: Tensor, axes: Tensor) -> Tensor:
        """Vectors (..., N, C) on the axes (..., C, A) of their sets, as the network reads them."""
        return on_axes(vectors, axes, spherical=self.config.spherical)

    @property
    def set_statistics(self) -> bool:
        """Whether images are best encoded by the batch statistics of their own set."""
        return bool(self.config.set_statistics)

    @property
    def encoder_regions(self) -> tuple[tuple[Any, str], ...]:
        """The encoder's method that is worth compiling in training."""
        return () if self.item_encoder is None else ((self.item_encoder, "forward"),)

    def as_vectors(self, batch: SetBatch) -> SetBatch:
        """Sets of images as the sets of vectors that the network reads; other sets as they are."""
        if self.item_encoder is None or batch.points.ndim == 3:
            return batch
        encoded = encode_sets(self.item_encoder, batch, chunk=ITEMS_AT_ONCE)
        if not self.n_axes:
            return encoded
        axes = principal_axes(encoded.points, batch.mask, self.n_axes)
        return replace(encoded, points=self.placed(encoded.points, axes))

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The loss of labelled sets, and that of the encoder where there is one."""
        if self.item_encoder is None or batch.points.ndim == 3:
            return self.set_loss(batch, generator)
        vectors, of_encoder = self.taught(batch, generator)
        if not self.n_axes:
            return self.set_loss(vectors, generator) + of_encoder
        # Coordinates in float32: in bfloat16 a cluster's mean would have two or three digits.
        with autocast(batch.points.device.type, enabled=False):
            return self.set_loss(vectors, generator) + of_encoder

    def set_loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        """The loss of the set network on labelled sets of vectors."""
        raise NotImplementedError

    def taught(self, batch: SetBatch, generator: Generator | None = None) -> Taught:
        """The vectors of labelled sets of images in training, and the loss of the vectors alone."""
        encoded, labels = self._encoded_to_learn(batch), require_labels(batch)
        near = encoded.points.new_zeros(())
        if self.config.neighbour_weight:
            with autocast(batch.points.device.type, enabled=False):
                vectors = encoded.points.float()
                near = self.config.neighbour_weight * neighbour_loss(vectors, labels, batch.mask)
        if self.n_axes:
            return Taught(self._on_axes(encoded, labels, generator), near)
        if self.config.mix_columns:
            encoded = replace(encoded, points=_mixed(encoded.points, generator))
        return Taught(encoded, near)

    def _encoded_to_learn(self, batch: SetBatch) -> SetBatch:
        """The vectors of images, with gradients where the encoder learns at all."""
        assert self.item_encoder is not None
        if self.n_axes and not self.config.neighbour_weight:  # nothing would reach it
            self.item_encoder.eval()
            with torch.no_grad():
                return encode_sets(self.item_encoder, batch, chunk=ITEMS_AT_ONCE)
        # Set by set, batch normalisation has the statistics of each set alone, as `adapted` has
        # them in use (transductive, Bronskill et al. 2020).
        chunk = batch.mask.shape[1] if self.set_statistics or not self.training else None
        return encode_sets(self.item_encoder, batch, chunk=chunk)

    @torch.no_grad()
    def _on_axes(self, batch: SetBatch, labels: Tensor, generator: Generator | None) -> SetBatch:
        """The sets on their principal axes, of random signs, without gradients."""
        with autocast(batch.points.device.type, enabled=False):
            points = batch.points.float()
            if self.config.looseness:
                points = loosened(
                    points,
                    labels,
                    batch.mask,
                    self.config.k_max,
                    self.config.looseness,
                    generator,
                )
            points = self.placed(points, iterated_axes(points, batch.mask, self.n_axes))
        return replace(batch, points=points * _signs(points, generator))

    def adapted(self, images: Tensor) -> Self:
        """The same system with the batch statistics of images (M, C, H, W)."""
        if self.item_encoder is None:
            raise ValueError("a network without an encoder of images has no statistics of them")
        other = type(self)(self.config).to(images).eval().requires_grad_(False)
        other.load_state_dict(self.state_dict())
        other.frame, other.item_encoder = self.frame, self.item_encoder.adapted(images)
        return other


def _mixed(points: Tensor, generator: Generator | None) -> Tensor:
    """The columns of each set (B, N, D) in a random order and with random signs."""
    n_sets, _, columns = points.shape
    order = torch.rand(n_sets, 1, columns, generator=generator, device=points.device).argsort(-1)
    return points.gather(2, order.expand_as(points)) * _signs(points, generator)


def _signs(points: Tensor, generator: Generator | None) -> Tensor:
    """A sign for each column of each set: (B, 1, D)."""
    n_sets, _, columns = points.shape
    drawn = torch.rand(n_sets, 1, columns, generator=generator, device=points.device)
    return 1 - 2 * (drawn < 0.5).to(points)
