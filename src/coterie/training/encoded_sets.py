"""Sets of vectors of images, encoded once, for a set network whose encoder stays as it is.

To encode an image takes longer than all that a set network learns from its vector. So images that
are shown as they are get encoded once (`EncodedImages`). Drawings of made-up classes, of which no
two are alike, come from a bank of whole sets, and every batch is made of parts of these
(`EncodedSets`). The batches are those that `ItemSystem.taught` makes of images: with clusters that
are stretched and moved anew (`functional/loosening.py`), on the principal axes of each set.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.collections import LOADERS, open_collection
from coterie.data.glyph_episodes import GlyphEpisodes
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.pools import open_pool
from coterie.encoders.images import IMAGES_AT_ONCE, ItemEncoder, ResNetEncoder
from coterie.encoders.protocol import encode_sets
from coterie.functional.loosening import loosened
from coterie.functional.principal import iterated_axes, on_axes, principal_axes
from coterie.systems.protocol import require_labels
from coterie.weights.card import Card
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError, load_system

SPAN = 32  # the axes of a whole set on which it is stored: nearly all of the length of its vectors
POOL_SPAN = 64  # likewise, of all images of a pool
SETS_AT_ONCE = 4
CENTRED_ON = 2000  # images, whose mean is the centre of an encoder that knows no classes


@dataclass(frozen=True)
class _Encoded:
    """Sets of `episodes` as vectors of an encoder on `columns` axes.

    encoder: weights; looseness, spherical: as in `ItemSettings`.
    """

    episodes: Any
    encoder: str
    columns: int
    looseness: float
    spherical: bool = field(default=False, kw_only=True)

    @property
    def pool(self) -> str:
        """The pool of the images."""
        return str(self.episodes.pool)

    @property
    def n_max(self) -> int:
        """The size of the largest set."""
        return int(self.episodes.n_max)

    @property
    def k_max(self) -> int:
        """The largest number of clusters of a set."""
        return int(self.episodes.k_max)

    def _to_learn(
        self, points: Tensor, labels: Tensor, mask: Tensor, generator: Generator
    ) -> SetBatch:
        """Labelled vectors (B, N, C) on the axes of their sets, of random signs."""
        if self.looseness:
            points = loosened(points, labels, mask, self.k_max, self.looseness, generator)
        axes = iterated_axes(points, mask, self.columns)
        points = on_axes(points, axes, spherical=self.spherical)
        shape = len(points), 1, self.columns
        flips = torch.rand(shape, generator=generator, device=points.device) < 0.5
        points = torch.where(flips, -points, points)
        return SetBatch(torch.where(mask[..., None], points, 0.0), mask, labels)


@dataclass(frozen=True)
class EncodedImages(_Encoded):
    """Sets of images that are shown as they are, each of which is encoded once."""

    episodes: ImageEpisodes

    def __post_init__(self) -> None:
        if self.episodes.views is not None or self.episodes.symmetries > 1:
            raise ValueError("images that are changed for each set cannot be encoded once")

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """Labelled sets on the generator's device: points (B, N, D)."""
        vectors = _vectors(self.episodes, self.encoder, generator.device)
        drawn = self.episodes.draw(n_sets, generator)
        return self._to_learn(vectors[drawn.number].float(), drawn.labels, drawn.mask, generator)


@lru_cache(maxsize=1)
def _vectors(episodes: ImageEpisodes, weights: str, device: torch.device) -> Tensor:
    """All images of the sets on the axes of all, in half precision: (n, POOL_SPAN)."""
    encoder = encoder_of(weights, episodes.pool).to(device).eval()
    images = episodes.bank(device).images
    with torch.no_grad():
        parts = [encoder(part.float() / 255) for part in images.split(IMAGES_AT_ONCE)]
    vectors = torch.cat(parts)[None]
    mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=device)
    axes = principal_axes(vectors, mask, min(POOL_SPAN, vectors.shape[-1]))
    return on_axes(vectors, axes)[0].half()


@dataclass(frozen=True)
class EncodedSets(_Encoded):
    """Parts of `bank` sets of drawings of made-up classes.

    least: the smallest part relative to all of a set; seed: of the bank.
    """

    episodes: GlyphEpisodes
    bank: int = 800
    least: float = 0.3
    seed: int = 0

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
        return self._to_learn(points, torch.where(mask, labels, -1), mask, generator)


class _Bank(NamedTuple):
    """Whole sets on their axes, in half precision: points (S, N, SPAN), labels (S, N)."""

    points: Tensor
    labels: Tensor


@lru_cache(maxsize=1)
def _bank(source: EncodedSets, device: torch.device) -> _Bank:
    encoder = encoder_of(source.encoder, source.pool).to(device).eval()
    whole = replace(source.episodes, least=1.0)
    generator = torch.Generator(device).manual_seed(source.seed)
    points: list[Tensor] = []
    labels: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, source.bank, SETS_AT_ONCE):
            sets = whole.sample(min(SETS_AT_ONCE, source.bank - start), generator)
            encoded = encode_sets(encoder, sets)
            axes = principal_axes(encoded.points, sets.mask, min(SPAN, encoded.points.shape[-1]))
            points.append(on_axes(encoded.points, axes).half())
            labels.append(require_labels(sets))
    return _Bank(torch.cat(points), torch.cat(labels))


@lru_cache(maxsize=1)
def encoder_of(weights: str, pool: str) -> ItemEncoder:
    """The encoder of a clusterer of images, or the backbone of MoCo's or MiCE's teacher.

    A network that was trained without labels leaves all of its vectors on one side of the origin,
    and the angles between them small: it is centred on the images that it has learnt from.
    """
    system, card = load_system(find(weights))
    known = cast(Any, system)
    if getattr(known, "item_encoder", None) is not None:
        return cast(ItemEncoder, known.item_encoder)
    if not hasattr(known, "pair"):
        raise WeightsError(f"{weights} is of {card.system!r}, without an encoder")
    teacher, config = known.pair.teacher, known.config
    encoder = ResNetEncoder(config.traits.item_shape, config.backbone, teacher.backbone.width)
    encoder.start_from(teacher)
    images = _unlabelled(card, pool)
    chosen = torch.randperm(len(images), generator=Generator().manual_seed(0))[:CENTRED_ON]
    encoder.centre_on(torch.from_numpy(images[chosen.numpy()]))
    return encoder.eval()


def _unlabelled(card: Card, pool: str) -> NDArray[np.uint8]:
    """The images that a network has learnt from without labels, of a pool where these are unknown.

    Those of a pool would not do: their classes lie to one side of all.
    """
    name = card.provenance.get("recipe", {}).get("prior", {}).get("name")
    return open_collection(name).images if name in LOADERS else open_pool(pool).images
