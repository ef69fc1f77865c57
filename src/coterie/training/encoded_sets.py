"""Sets of vectors of images, encoded once, for a set network whose encoder stays as it is.

To encode an image takes longer than all that a set network learns from its vector. A bank of sets
is drawn and encoded when the first batch is asked for; every batch is made of parts of them, with
clusters that are stretched and moved anew (`functional/loosening.py`), on the principal axes of the
part. The batches are those that `ItemSystem.taught` makes of images.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.glyph_episodes import GlyphEpisodes
from coterie.encoders.protocol import encode_sets
from coterie.functional.loosening import loosened
from coterie.functional.principal import iterated_axes, on_axes, principal_axes
from coterie.systems.protocol import require_labels
from coterie.weights.catalogue import find
from coterie.weights.format import load_system

SPAN = 32  # the axes of a whole set on which it is stored: nearly all of the length of its vectors
SETS_AT_ONCE = 4


@dataclass(frozen=True)
class EncodedSets:
    """Parts of `bank` sets of made-up classes, as vectors of an encoder on `columns` axes.

    encoder: weights; least: the smallest part relative to all of a set; looseness: as in
    `ItemSettings`; seed: of the bank.
    """

    episodes: GlyphEpisodes
    encoder: str
    bank: int
    columns: int
    looseness: float
    least: float = 0.3
    seed: int = 0

    @property
    def pool(self) -> str:
        """The pool of the images."""
        return self.episodes.pool

    @property
    def n_max(self) -> int:
        """The size of the largest part, a whole set."""
        return self.episodes.n_max

    @property
    def k_max(self) -> int:
        """The largest number of clusters of a set."""
        return self.episodes.k_max

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """Labelled sets on the generator's device: points (B, N, D)."""
        device = generator.device
        stored = _bank(self, device)
        chosen = torch.randint(self.bank, (n_sets,), generator=generator, device=device)
        order = torch.rand(n_sets, self.n_max, generator=generator, device=device).argsort(1)
        labels = stored.labels[chosen].gather(1, order)
        points = stored.points[chosen].float()
        points = points.gather(1, order[..., None].expand_as(points))
        fewest = max(1, round(self.least * self.n_max))
        sizes = torch.randint(
            fewest, self.n_max + 1, (n_sets, 1), generator=generator, device=device
        )
        mask = torch.arange(self.n_max, device=device) < sizes
        labels = torch.where(mask, labels, -1)
        if self.looseness:
            points = loosened(points, labels, mask, self.k_max, self.looseness, generator)
        points = on_axes(points, iterated_axes(points, mask, self.columns))
        flips = torch.rand(n_sets, 1, self.columns, generator=generator, device=device) < 0.5
        points = torch.where(flips, -points, points)
        return SetBatch(torch.where(mask[..., None], points, 0.0), mask, labels)


class _Bank(NamedTuple):
    """Whole sets on their axes, in half precision: points (S, N, SPAN), labels (S, N)."""

    points: Tensor
    labels: Tensor


@lru_cache(maxsize=1)
def _bank(source: EncodedSets, device: torch.device) -> _Bank:
    system: Any = load_system(find(source.encoder))[0]
    encoder = system.item_encoder.to(device).eval()
    whole = replace(source.episodes, least=1.0)
    generator = torch.Generator(device).manual_seed(source.seed)
    points: list[Tensor] = []
    labels: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, source.bank, SETS_AT_ONCE):
            sets = whole.sample(min(SETS_AT_ONCE, source.bank - start), generator)
            encoded = encode_sets(encoder, sets)
            axes = principal_axes(encoded.points, sets.mask, SPAN)
            points.append(on_axes(encoded.points, axes).half())
            labels.append(require_labels(sets))
    return _Bank(torch.cat(points), torch.cat(labels))
