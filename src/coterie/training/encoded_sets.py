"""Sets of vectors of images, encoded once, for a set network whose encoder stays as it is.

To encode an image takes longer than all that a set network learns from its vector. A bank of sets
is drawn and encoded when the first batch is asked for; every batch is made of parts of them, with
clusters that are stretched and moved anew (`functional/loosening.py`), on the principal axes of the
part. The batches are those that `ItemSystem.taught` makes of images.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch
from coterie.data.glyph_episodes import GlyphEpisodes
from coterie.data.image_episodes import ImageEpisodes
from coterie.encoders.images import ResNetEncoder
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
    """Parts of `bank` sets of images, as vectors of an encoder on `columns` axes.

    encoder: weights; least: the smallest part relative to all of a set; looseness: as in
    `ItemSettings`; seed: of the bank.
    """

    episodes: GlyphEpisodes | ImageEpisodes
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
        labels = stored.labels[chosen]
        there = labels >= 0
        order = torch.rand(n_sets, self.n_max, generator=generator, device=device)
        order = (order - there.float()).argsort(1)  # the images that are there come first
        points = stored.points[chosen].float()
        points = points.gather(1, order[..., None].expand_as(points))
        share = torch.rand(n_sets, 1, generator=generator, device=device) * (1 - self.least)
        sizes = ((self.least + share) * there.sum(1, keepdim=True)).ceil()
        mask = torch.arange(self.n_max, device=device) < sizes
        labels = torch.where(mask, labels.gather(1, order), -1)
        if self.looseness:
            points = loosened(points, labels, mask, self.k_max, self.looseness, generator)
        points = on_axes(points, iterated_axes(points, mask, self.columns))
        flips = torch.rand(n_sets, 1, self.columns, generator=generator, device=device) < 0.5
        points = torch.where(flips, -points, points)
        return SetBatch(torch.where(mask[..., None], points, 0.0), mask, labels)


class _Bank(NamedTuple):
    """Whole sets on their axes in half precision: points (S, N, SPAN), labels (S, N), -1: none."""

    points: Tensor
    labels: Tensor


@lru_cache(maxsize=1)
def _bank(source: EncodedSets, device: torch.device) -> _Bank:
    encoder = encoder_of(source.encoder).to(device).eval()
    whole = source.episodes
    if isinstance(whole, GlyphEpisodes):
        whole = replace(whole, least=1.0)
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


def encoder_of(weights: str) -> nn.Module:
    """The encoder of a clusterer of images, or the backbone of MoCo's or MiCE's teacher."""
    system: Any = load_system(find(weights))[0]
    if not hasattr(system, "pair"):
        return cast(nn.Module, system.item_encoder)
    teacher, config = system.pair.teacher, system.config
    encoder = ResNetEncoder(config.traits.item_shape, config.backbone, teacher.backbone.width)
    encoder.start_from(teacher)
    return encoder
