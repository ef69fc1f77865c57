"""Labelled sets of images, drawn from a pool of many classes on the training device.

Nothing here asks the host for a number, so a training step that draws its own sets can be one CUDA
graph.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from coterie.data.augmentation import DigitViews, PhotoViews
from coterie.data.batch import SetBatch
from coterie.data.pools import open_pool
from coterie.data.priors.draws import Draws
from coterie.data.priors.mog import compose

SYMMETRIES = (1, 4, 8)  # an image as it is, its quarter turns, these and their mirror images


@dataclass(frozen=True)
class ImageEpisodes:
    """Sets of up to n_max images in up to k_max classes of a pool.

    pool: a name known to `open_pool`; left_out: groups of the pool that are never drawn from;
    classes: how many of its classes to use, from the first on, None for all;
    concentration: of the Dirichlet distribution of the classes' shares, with sizes and numbers of
    classes as in DAC's eq. 13, or with any_k every number of classes as likely; None for classes of
    about equal size, k_min to k_max of them, of which each has up to images_per_class images, no
    image twice, and up to the share hidden of a set's images is left out; one_group: the share of
    sets whose classes come from one group, filled up with others where it is too small; symmetries:
    how many turned and mirrored copies of a class count as classes of their own: 1, 4 or 8. All
    classes of a set from one group are turned alike; views: the augmentation of each image; binary:
    whether pixels are drawn to be 0 or 1, with their grey value as the probability; flat: whether
    an image is a vector of its pixels.
    """

    pool: str
    n_max: int
    k_max: int
    k_min: int = 1
    left_out: tuple[str, ...] = ()
    classes: int | None = None
    concentration: int | None = None
    any_k: bool = False
    images_per_class: int = 20
    hidden: float = 0.0
    one_group: float = 0.0
    symmetries: int = 1
    views: DigitViews | PhotoViews | None = None
    binary: bool = False
    flat: bool = False

    def __post_init__(self) -> None:
        if self.symmetries not in SYMMETRIES:
            raise ValueError(f"symmetries must be one of {SYMMETRIES}, got {self.symmetries}")
        if not 1 <= self.k_min <= self.k_max:
            raise ValueError(f"k_min must be 1 to k_max = {self.k_max}, got {self.k_min}")

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """Labelled sets on the generator's device: points (B, N, C, H, W) in [0, 1].

        Points are (B, N, C H W) where they are flat.
        """
        draws = Draws(generator)
        drawn = self.draw(n_sets, generator)
        turns = draws.choice(self.symmetries, n_sets, self.k_max)
        turns = torch.where(drawn.together, turns[:, :1], turns)
        images = self.bank(generator.device).images[drawn.number.flatten()]  # (B N, C, H, W)
        if self.symmetries > 1:
            images = turned(images, of_label(turns, drawn.labels).flatten())
        points = images.float() / 255
        if self.views is not None:
            points = self.views(points, generator)
        if self.binary:
            points = (draws.uniform(0, 1, *points.shape) < points).to(points)
        # Points that are not there are images too: batch normalisation must not see blank ones.
        points = points.flatten(1) if self.flat else points
        points = points.view(n_sets, self.n_max, *points.shape[1:])
        return SetBatch(points, drawn.mask, drawn.labels)

    def draw(self, n_sets: int, generator: Generator) -> "Drawn":
        """Which images of the bank the sets consist of."""
        bank, draws = self.bank(generator.device), Draws(generator)
        if self.k_max > len(bank.starts):
            raise ValueError(f"{self.pool} has {len(bank.starts)} classes, not {self.k_max}")
        together = draws.chance(self.one_group, n_sets, 1)
        classes = self._classes(bank, together, draws)  # (B, K)
        if self.concentration is None:
            return Drawn(*self._balanced(bank, classes, draws), together)
        _, labels, mask = compose(
            n_sets,
            self.n_max,
            self.k_max,
            generator,
            concentration=self.concentration,
            any_k=self.any_k,
        )
        return Drawn(any_image(bank, of_label(classes, labels), draws), labels, mask, together)

    def bank(self, device: torch.device) -> "Bank":
        """The images to draw from."""
        return open_bank(self.pool, self.left_out, self.classes, device)

    def _classes(self, bank: "Bank", together: Tensor, draws: Draws) -> Tensor:
        """Different classes for each set, those of one group first where that is asked: (B, K)."""
        n_sets, n_classes = len(together), len(bank.starts)
        # A class is drawn, then its group: alphabets are as likely as they are large.
        group = bank.groups[draws.choice(n_classes, n_sets, 1)]
        first = together & (bank.groups == group)  # (B, classes)
        ticket = draws.uniform(0, 1, n_sets, n_classes) + first
        return ticket.topk(self.k_max, 1).indices

    def _balanced(
        self, bank: "Bank", classes: Tensor, draws: Draws
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Some images of k_min to k_max classes, none twice."""
        n_sets, each = len(classes), self.images_per_class
        n_classes = self.k_min + draws.choice(self.k_max - self.k_min + 1, n_sets, 1)
        exists = torch.arange(self.k_max, device=classes.device) < n_classes  # (B, K)
        # A class of more images than a set takes gives a run of them from a random start.
        begin = draws.uniform(0, 1, n_sets, self.k_max, 1) * bank.counts[classes][..., None]
        run = torch.arange(each, device=classes.device)
        place = (begin.long() + run) % bank.counts[classes][..., None]
        number = (bank.starts[classes][..., None] + place).flatten(1)  # (B, K each)
        enough = run < bank.counts[classes][..., None]
        ticket = draws.uniform(0, 1, *number.shape)
        seen = draws.uniform(0, 1, *number.shape) >= self.hidden * draws.uniform(0, 1, n_sets, 1)
        valid = seen & (enough & exists[..., None]).flatten(1)
        chosen = (ticket - valid.float()).topk(self.n_max, 1, largest=False, sorted=False).indices
        mask = valid.gather(1, chosen)
        labels = torch.where(mask, chosen // each, -1)
        return number.gather(1, chosen), labels, mask


class Bank(NamedTuple):
    """A pool on a device: images (n, C, H, W); starts, counts, groups and names of K classes."""

    images: Tensor
    starts: Tensor
    counts: Tensor
    groups: Tensor
    names: tuple[str, ...]


class Drawn(NamedTuple):
    """Which image each point of a set is, its class in the set and whether it is there: (B, N).

    together: the sets of one group, (B, 1).
    """

    number: Tensor
    labels: Tensor
    mask: Tensor
    together: Tensor


@lru_cache(maxsize=4)
def open_bank(
    name: str, left_out: tuple[str, ...], n_classes: int | None, device: torch.device
) -> Bank:
    """A pool without some groups, or only the first so many of its classes, on a device."""
    pool = open_pool(name).without(left_out).first(n_classes)
    starts = np.cumsum(pool.counts) - pool.counts
    arrays = (pool.images, starts, pool.counts, pool.groups)
    images, begin, counts, groups = (
        torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays
    )
    return Bank(images, begin, counts, groups, pool.class_names)


def any_image(bank: Bank, classes: Tensor, draws: Draws) -> Tensor:
    """A random image of each class: (B, N) -> (B, N)."""
    share = draws.uniform(0, 1, *classes.shape)
    place = (share * bank.counts[classes]).long()
    return bank.starts[classes] + torch.minimum(place, bank.counts[classes] - 1)


def of_label(values: Tensor, labels: Tensor) -> Tensor:
    """The value of each point's class: (B, K), (B, N) -> (B, N)."""
    return values.gather(1, labels.clamp_min(0))


def turned(images: Tensor, turns: Tensor) -> Tensor:
    """Square images (M, C, H, H), each under its own symmetry (M,)."""
    order = _pixel_orders(images.shape[-1], images.device)[turns]  # (M, H H)
    pixels = images.flatten(2)
    return pixels.gather(2, order[:, None].expand_as(pixels)).view_as(images)


@cache
def _pixel_orders(side: int, device: torch.device) -> Tensor:
    """Where the pixels of a square come from under its eight symmetries: (8, side side)."""
    square = torch.arange(side * side).view(side, side)
    orders = [torch.rot90(each, turn).flatten() for each in (square, square.T) for turn in range(4)]
    return torch.stack(orders).to(device)
