from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.data import glyph_episodes, image_episodes
from coterie.data.augmentation import DigitViews
from coterie.data.glyph_episodes import ALIKE, GlyphEpisodes, _joined
from coterie.data.image_episodes import turned
from coterie.data.pools import ImagePool

STILL = DigitViews(rotation=0, shear=0, scale=0, shift=0, warp=0, thick=0)
PLAIN = GlyphEpisodes("shapes", 60, 6, joined=0.0, warp=0.0, views=STILL)


@pytest.fixture(autouse=True)
def shapes(monkeypatch):
    """Five classes of four equal 8 x 8 images without any symmetry."""
    kinds = np.random.default_rng(0).integers(0, 256, (5, 1, 8, 8)).astype(np.uint8)
    pool = ImagePool(kinds.repeat(4, 0), np.full(5, 4), tuple("abcde"), np.zeros(5, int), ("all",))
    monkeypatch.setattr(image_episodes, "open_pool", lambda name: pool)
    caches = image_episodes.open_bank, glyph_episodes._atoms
    for each in caches:
        each.cache_clear()
    yield torch.from_numpy(kinds)
    for each in caches:
        each.cache_clear()


def drawn(episodes, n_sets=40, seed=0):
    return episodes.sample(n_sets, torch.Generator().manual_seed(seed))


def as_set(images):
    return {image.numpy().tobytes() for image in (images * 255).round().to(torch.uint8)}


@pytest.mark.parametrize("one_style", [0.0, 1.0])
@pytest.mark.parametrize("joined", [0.0, 1.0])
def test_a_cluster_is_of_one_class_and_no_two_clusters_are_alike(one_style, joined):
    batch = drawn(replace(PLAIN, one_style=one_style, joined=joined))
    assert batch.points.shape == (40, 60, 1, 8, 8)
    sizes = set()
    for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True):
        kinds = [as_set(points[mask & (labels == own)]) for own in labels[mask].unique()]
        assert all(len(kind) == 1 for kind in kinds)  # all images of a class are equal here
        assert len(set.union(*kinds)) == len(kinds)
        sizes.add(len(kinds))
    assert min(sizes) == 1
    assert max(sizes) == (5 if one_style and not joined else 6)
    assert (batch.labels[~batch.mask] == -1).all()


def test_sets_may_all_be_of_one_size():
    assert drawn(replace(PLAIN, least=1.0)).mask.all()
    sizes = drawn(PLAIN).mask.sum(1)
    assert 18 <= int(sizes.min()) < int(sizes.max()) <= 60


def test_sets_of_one_style_are_turned_alike(shapes):
    under = [as_set(turned(shapes, torch.full((5,), turn)).float() / 255) for turn in range(8)]
    batch = drawn(replace(PLAIN, one_style=1.0))
    used = set()
    for points, mask in zip(batch.points, batch.mask, strict=True):
        (turn,) = [number for number in range(8) if as_set(points[mask]) <= under[number]]
        used.add(turn)
    assert len(used) == 8
    mixed = drawn(replace(PLAIN, one_style=0.0))
    several = [as_set(points[mask]) for points, mask in zip(mixed.points, mixed.mask, strict=True)]
    assert any(not any(found <= each for each in under) for found in several)


def test_look_alikes_of_a_digit_are_symmetries_of_its_shape():
    """A shape with the symmetries of an 8, and one with those of a 2."""
    eight = torch.zeros(1, 1, 8, 8)
    eight[..., 1:7, 2:6] = 1
    two = torch.zeros(1, 1, 8, 8)
    two[..., 1, 1:4] = two[..., 6, 4:7] = 1
    for name, shape in (("8", eight), ("2", two)):
        views = turned(shape.expand(8, -1, -1, -1), torch.arange(8))
        for group in ALIKE[name]:
            assert all(torch.equal(views[group[0]], views[other]) for other in group)
        firsts = {views[group[0]].numpy().tobytes() for group in ALIKE[name]}
        assert len(firsts) == len(ALIKE[name])
        assert sorted(sum(ALIKE[name], ())) == list(range(8))


def test_two_drawings_are_joined_in_four_ways():
    dark, bright = torch.zeros(5, 1, 4, 4), torch.ones(5, 1, 4, 4)
    alone, left, above, over, beside = _joined(dark, bright, torch.arange(5))
    assert alone.sum() == 0
    assert left[0, :, 2:].all()
    assert not left[0, :, :2].any()
    assert above[0, 2:].all()
    assert not above[0, :2].any()
    assert over.all()
    assert beside[0, :, 2:].all()
    assert not beside[0, :, :2].any()


def test_a_class_is_bent_as_one_and_images_are_moved_each():
    bent = drawn(replace(PLAIN, warp=0.2, one_style=0.0))
    points, labels, mask = bent.points[0], bent.labels[0], bent.mask[0]
    for own in labels[mask].unique():
        same = points[mask & (labels == own)]
        assert torch.allclose(same, same[:1].expand_as(same), atol=1e-5)
    moved = drawn(replace(PLAIN, views=DigitViews(thick=0)))
    spread = [
        float(points[mask & (labels == labels[0])].std(0).mean())
        for points, labels, mask in zip(moved.points, moved.labels, moved.mask, strict=True)
    ]
    assert min(spread) < 1e-6  # of a set that stands still
    assert max(spread) > 0.05


def test_the_seed_decides_and_fewer_classes_may_be_used():
    first, again, other = drawn(PLAIN), drawn(PLAIN), drawn(PLAIN, seed=1)
    assert torch.equal(first.points, again.points)
    assert not torch.equal(first.labels, other.labels)
    few = drawn(replace(PLAIN, classes=2, one_style=1.0))
    assert int(few.labels.max()) == 1
    with pytest.raises(ValueError, match="there are 5 classes, not 9"):
        drawn(replace(PLAIN, classes=9))
