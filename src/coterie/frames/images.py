"""Images as the vectors of a network's encoder: the frame of a table whose rows are images."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.functional.principal import principal_axes
from coterie.functional.repeats import find_repeats

CHUNK = 256
LEAST_IMAGES = 16  # fewer have no statistics worth using
BRIGHT = 0.5  # drawings that are brighter on average are dark ink on white paper
INVERTED = "most pixels are bright: the images are inverted, the network reads bright ink"
MOST_IMAGES = 4096  # on which statistics are computed, in one piece


@dataclass(frozen=True)
class EncodedImages:
    """Rows of pixels (n, C H W) in [0, 1] as vectors (n, width).

    system: a network with an `item_encoder`, whose batch statistics may be those of the fitted
    images; image: the shape (C, H, W) of one; inverted: whether the fitted images were dark ink on
    bright paper, which the network reads the other way round; axes: (C, A), the principal axes of
    the fitted images' vectors, where the network reads vectors on these.
    """

    system: Any
    image: tuple[int, ...]
    inverted: bool = False
    axes: NDArray[np.float32] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        return (INVERTED,) if self.inverted else ()

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.system.item_encoder.width if self.axes is None else self.axes.shape[1])

    @torch.no_grad()
    def __call__(self, table: NDArray) -> NDArray[np.float32]:
        """(n, C H W) -> (n, width), also for n = 0."""
        vectors = self.vectors(table)
        if self.axes is None:
            return vectors
        placed = self.system.placed(torch.from_numpy(vectors), torch.from_numpy(self.axes))
        return np.asarray(placed)

    @torch.no_grad()
    def vectors(self, table: NDArray) -> NDArray[np.float32]:
        """The encoder's own vectors of images (n, C H W), also for n = 0."""
        encoder = self.system.item_encoder
        weight = next(encoder.parameters())
        # Chunks of one size: the last digits of a product depend on how many images share it.
        pixels = torch.from_numpy(np.ascontiguousarray(table, dtype=np.float32))
        if not len(pixels):
            return np.empty((0, encoder.width), dtype=np.float32)
        distinct, kind = find_repeats(pixels)  # a few images may stand for thousands, by weight
        pixels = 1 - pixels[distinct] if self.inverted else pixels[distinct]
        vectors = [
            encoder(_filled(part, CHUNK).view(-1, *self.image).to(weight))[: len(part)]
            for part in pixels.split(CHUNK)
        ]
        return torch.cat(vectors).float().cpu().numpy()[kind.numpy()]

    def in_units(self, table: NDArray) -> NDArray[np.float64]:
        """The pixels as they are: (n, C H W)."""
        return np.asarray(table, dtype=np.float64)

    def rows(self, points: NDArray) -> NDArray[np.float64]:
        """Nobody knows the image of a vector."""
        raise ValueError("the network reads vectors of images: the pixels of a point are unknown")


def fit_images(
    system: Any, image: tuple[int, ...], table: NDArray, *, own_statistics: bool
) -> EncodedImages:
    """The frame of images (n, C H W) for a network, which stays as it is.

    own_statistics: whether batch normalisation uses the statistics of these images, where there are
    enough of them, instead of those of training.
    """
    inverted = image[0] == 1 and float(table.mean()) > BRIGHT
    if own_statistics and len(table) >= LEAST_IMAGES:
        pixels = torch.from_numpy(np.ascontiguousarray(table[:MOST_IMAGES], dtype=np.float32))
        pixels = 1 - pixels if inverted else pixels
        weight = next(system.item_encoder.parameters())
        system = system.adapted(pixels.view(-1, *image).to(weight))
    frame = EncodedImages(system, image, inverted)
    if not system.n_axes:
        return frame
    return replace(frame, axes=fit_axes(frame.vectors(table[:MOST_IMAGES]), system.n_axes))


def fit_axes(vectors: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
    """The principal axes of an encoder's vectors (n, C): (C, n_axes).

    In float64, and of vectors in any order.
    """
    exact = torch.from_numpy(vectors).double()[None]
    everything = torch.ones(exact.shape[:2], dtype=torch.bool)
    return principal_axes(exact, everything, n_axes)[0].float().numpy()


def _filled(pixels: torch.Tensor, size: int) -> torch.Tensor:
    """Blank rows behind (n, P), so that there are as many as size."""
    return torch.cat([pixels, pixels.new_zeros(size - len(pixels), pixels.shape[1])])
