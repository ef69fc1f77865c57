"""Labelled sets of drawings of made-up classes, from a pool of few real ones.

A network that is shown five digits learns them by heart. A made-up class is a digit turned or
mirrored, two digits joined in one of four ways, and bent by a smooth warp of the class. Half of the
sets are of one style: turned, joined and bent alike, so that nothing but the shapes of the digits
tells their classes apart, as in a set of real ones.

Nothing here asks the host for a number, so a training step that draws its own sets can be one CUDA
graph.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.augmentation import DigitViews, enlarged
from coterie.data.batch import SetBatch
from coterie.data.image_episodes import Bank, any_image, of_label, open_bank, turned
from coterie.data.priors.draws import Draws
from coterie.data.priors.mog import compose

N_TURNS = 8  # the symmetries of a square, in the order of `turned`
Turns = tuple[tuple[int, ...], ...]
# Symmetries under which a character looks the same; the others' eight are all different.
ROUND: Turns = (tuple(range(N_TURNS)),)
UPRIGHT_OR_LYING: Turns = ((0, 2, 5, 7), (1, 3, 4, 6))
UPSIDE_DOWN: Turns = ((0, 2), (1, 3), (4, 6), (5, 7))
ALIKE: dict[str, Turns] = {
    **dict.fromkeys("0IOX", ROUND),
    **dict.fromkeys("8H", UPRIGHT_OR_LYING),
    **dict.fromkeys("2NSZ", UPSIDE_DOWN),
}
N_JOINS = 4  # left and right, above and below, on top of each other, squeezed side by side
JITTER = DigitViews(rotation=15, shear=0.2, scale=0.15, shift=0.05, warp=0.03, thick=0.5)
CALM = 0.25  # the share of sets whose images are not jittered at all
CELLS = 4  # a class's warp is smooth: a surface over so many cells each way


@dataclass(frozen=True)
class GlyphEpisodes:
    """Sets of up to n_max drawings of up to k_max made-up classes of a pool, 28 pixels each way.

    pool: a name known to `open_pool`; classes: how many of its classes to use, None for all;
    least: the smallest size of a set relative to n_max;
    concentration: of the Dirichlet distribution of the classes' shares; joined: the share of
    classes of two drawings; warp: how far a class is bent, relative to the image; one_style: the
    share of sets of one style; views: how each image is moved, in the strength of its set.
    """

    pool: str
    n_max: int
    k_max: int
    classes: int | None = None
    concentration: int = 5
    joined: float = 0.5
    warp: float = 0.125
    one_style: float = 0.5
    views: DigitViews = JITTER
    least: float = 0.3

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """Labelled sets on the generator's device: points (B, N, 1, H, W) in [0, 1]."""
        bank, draws = open_bank(self.pool, (), self.classes, generator.device), Draws(generator)
        _, labels, mask = compose(
            n_sets,
            self.n_max,
            self.k_max,
            generator,
            concentration=self.concentration,
            any_k=True,
            least=self.least,
        )
        styled = draws.chance(self.one_style, n_sets, 1)
        made, n_different = self._made_up(bank, styled, draws)
        labels = torch.where(mask, labels % n_different, -1)  # no two clusters of one class
        first = self._drawings(bank, made.first, labels, draws)
        second = self._drawings(bank, made.second, labels, draws)
        images = _joined(first, second, of_label(made.join, labels).flatten())
        points = self._moved(images, styled, labels, draws, generator)
        return SetBatch(points.view(n_sets, self.n_max, *points.shape[1:]), mask, labels)

    def _made_up(self, bank: Bank, styled: Tensor, draws: Draws) -> tuple["_Made", Tensor]:
        """What the classes of each set are, and how many of them differ: (B, 1)."""
        n_sets, n_base = len(styled), len(bank.starts)
        atoms = _atoms(self.pool, self.classes, bank.starts.device)
        join = 1 + draws.choice(N_JOINS, n_sets, self.k_max)
        join = torch.where(draws.chance(self.joined, n_sets, self.k_max), join, 0)
        join = torch.where(styled, join[:, :1], join)
        parts = [self._of_atoms(atoms, n_sets, draws) for _ in range(2)]
        # Of one style: classes as they are, or different ordered pairs of them, all turned alike.
        pairs = _several(draws, n_sets, n_base * n_base, self.k_max)
        alone = _several(draws, n_sets, n_base, self.k_max)
        pure = join[:, :1] == 0
        bases = (torch.where(pure, alone, pairs // n_base), pairs % n_base)
        for number, base in enumerate(bases):
            turn = draws.choice(N_TURNS, n_sets, 1).expand_as(base)
            parts[number] = _Part(
                torch.where(styled, base, parts[number].classes),
                torch.where(styled, turn, parts[number].turns),
            )
        kinds = torch.where(pure, n_base, n_base * n_base)
        n_different = torch.where(styled, kinds, len(atoms.classes)).clamp(max=self.k_max)
        return _Made(parts[0], parts[1], join), n_different

    def _of_atoms(self, atoms: "_Atoms", n_sets: int, draws: Draws) -> "_Part":
        """Different turned digits for the classes of each set."""
        atom = _several(draws, n_sets, len(atoms.classes), self.k_max)  # (B, K)
        choice = draws.choice(N_TURNS, n_sets, self.k_max)
        return _Part(atoms.classes[atom], atoms.turns[atom, choice])

    def _drawings(self, bank: Bank, part: "_Part", labels: Tensor, draws: Draws) -> Tensor:
        """A random image for each point, turned as its class is: (B N, 1, H, W) in [0, 1]."""
        number = any_image(bank, of_label(part.classes, labels), draws).flatten()
        return turned(bank.images[number], of_label(part.turns, labels).flatten()).float() / 255

    def _moved(
        self, images: Tensor, styled: Tensor, labels: Tensor, draws: Draws, generator: Generator
    ) -> Tensor:
        """Images (B N, 1, H, W) bent as their class is, and moved each on its own."""
        n_sets = len(labels)
        cells = draws.uniform(-1, 1, n_sets, self.k_max, 2 * CELLS * CELLS) * 2 * self.warp
        cells = torch.where(styled[..., None], cells[:, :1], cells)
        index = labels.clamp_min(0)[..., None].expand(-1, -1, cells.shape[-1])
        own = cells.gather(1, index).view(-1, 2, CELLS, CELLS)
        bent = enlarged(own, *images.shape[-2:]).movedim(1, -1)
        strength = (draws.uniform(-CALM, 1 - CALM, n_sets, 1) / (1 - CALM)).clamp_min(0)
        strength = strength.expand_as(labels).flatten()
        return self.views(images, generator, strength=strength, displaced=bent)


class _Part(NamedTuple):
    """Which class of the pool a made-up class shows, and how it is turned: (B, K)."""

    classes: Tensor
    turns: Tensor


class _Made(NamedTuple):
    """The two parts of each made-up class and how they are joined, 0 for the first alone."""

    first: _Part
    second: _Part
    join: Tensor


class _Atoms(NamedTuple):
    """Classes under symmetries that look different: classes (A,), turns (A, 8) that look alike."""

    classes: Tensor
    turns: Tensor


@lru_cache(maxsize=8)
def _atoms(pool: str, n_classes: int | None, device: torch.device) -> _Atoms:
    names = open_bank(pool, (), n_classes, device).names
    every = tuple((turn,) for turn in range(N_TURNS))
    pairs = [
        (number, (alike * N_TURNS)[:N_TURNS])
        for number, name in enumerate(names)
        for alike in ALIKE.get(name, every)
    ]
    classes, turns = zip(*pairs, strict=True)
    return _Atoms(torch.tensor(classes, device=device), torch.tensor(turns, device=device))


def _several(draws: Draws, n_sets: int, n_kinds: int, k_max: int) -> Tensor:
    """Kinds in random order for each set, from the first on again after the last: (B, K)."""
    order = draws.uniform(0, 1, n_sets, n_kinds).argsort(1)
    return order.repeat(1, -(-k_max // n_kinds))[:, :k_max]


def _joined(first: Tensor, second: Tensor, join: Tensor) -> Tensor:
    """Two drawings (M, 1, H, W) in one, by the way (M,) of each."""
    height, width = first.shape[-2:]
    left = torch.arange(width, device=first.device) < width // 2
    above = (torch.arange(height, device=first.device) < height // 2)[:, None]
    narrow = [torch.maximum(each[..., 0::2], each[..., 1::2]) for each in (first, second)]
    ways = (
        first,
        torch.where(left, first, second),
        torch.where(above, first, second),
        torch.maximum(first, second),
        torch.cat(narrow, -1),
    )
    chosen = join[:, None, None, None]
    images = first
    for number, way in enumerate(ways[1:], 1):
        images = torch.where(chosen == number, way, images)
    return images
