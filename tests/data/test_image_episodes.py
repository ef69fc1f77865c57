from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.data import image_episodes
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.pools import ImagePool

N_CLASSES, EACH = 30, 6


@pytest.fixture(autouse=True)
def numbered(monkeypatch):
    """30 classes of six 4 x 4 images: one pixel says the class, another the image.

    A third is bright in the upper left corner, so that a turned image is known as one.
    """
    images = np.zeros((N_CLASSES * EACH, 1, 4, 4), dtype=np.uint8)
    images[:, 0, 1, 1] = np.repeat(np.arange(N_CLASSES), EACH)
    images[:, 0, 1, 2] = np.tile(np.arange(EACH), N_CLASSES)
    images[:, 0, 0, 0] = 255
    groups = np.repeat([0, 1, 2], 10)
    held = ImagePool(images, np.full(N_CLASSES, EACH), ("",) * N_CLASSES, groups, ("a", "b", "c"))
    monkeypatch.setattr(image_episodes, "open_pool", lambda name: held)
    image_episodes.open_bank.cache_clear()
    yield
    image_episodes.open_bank.cache_clear()


EPISODES = ImageEpisodes("numbered", n_max=40, k_max=8, k_min=3, images_per_class=EACH)


def drawn(episodes, n_sets=20, seed=0):
    return episodes.sample(n_sets, torch.Generator().manual_seed(seed))


def class_of(points):
    return (points[..., 0, 1, 1] * 255).round().long()


def test_points_of_a_cluster_are_of_one_class_and_no_image_comes_twice():
    batch = drawn(EPISODES)
    assert batch.points.shape == (20, 40, 1, 4, 4)
    for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True):
        classes, numbers = class_of(points[mask]), (points[mask][:, 0, 1, 2] * 255).round().long()
        pairs = set(zip(labels[mask].tolist(), classes.tolist(), strict=True))
        assert len(pairs) == len({label for label, _ in pairs}) == len({each for _, each in pairs})
        assert 3 <= len(pairs) <= 8
        images = set(zip(classes.tolist(), numbers.tolist(), strict=True))
        assert len(images) == int(mask.sum()) == min(40, EACH * len(pairs))
    assert (batch.labels[~batch.mask] == -1).all()


def test_sizes_of_sets_vary_and_some_images_stay_hidden():
    whole, partly = (drawn(replace(EPISODES, hidden=share)).mask.sum() for share in (0.0, 0.5))
    assert 0.6 * whole < partly < 0.95 * whole


def test_the_seed_decides_the_sets():
    first, again, other = drawn(EPISODES), drawn(EPISODES), drawn(EPISODES, seed=1)
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.labels, other.labels)


def test_sets_of_one_group_and_groups_that_are_left_out():
    batch = drawn(replace(EPISODES, one_group=1.0, left_out=("b",)))
    for points, mask in zip(batch.points, batch.mask, strict=True):
        groups = set((class_of(points[mask]) // 10).tolist())
        assert groups in ({0}, {2})
    mixed = drawn(replace(EPISODES, one_group=0.0, left_out=("b",)))
    assert 1 not in (class_of(mixed.points[mixed.mask]) // 10).tolist()


def corner_of(points):
    """Which corner is bright: (..., 1, 4, 4) -> (...)."""
    corners = points[..., 0, :, :][..., [0, 0, 3, 3], [0, 3, 0, 3]]
    return corners.argmax(-1)


def test_classes_are_turned_each_in_its_way_or_all_alike():
    apart = drawn(replace(EPISODES, symmetries=4))
    for points, labels, mask in zip(apart.points, apart.labels, apart.mask, strict=True):
        pairs = set(zip(labels[mask].tolist(), corner_of(points[mask]).tolist(), strict=True))
        assert len(pairs) == len({label for label, _ in pairs})  # one turn for each class
    assert len(set(corner_of(apart.points[apart.mask]).tolist())) == 4
    alike = drawn(replace(EPISODES, symmetries=4, one_group=1.0))
    for points, mask in zip(alike.points, alike.mask, strict=True):
        assert len(set(corner_of(points[mask]).tolist())) == 1


def test_eight_symmetries_are_eight_images():
    square = torch.arange(16).view(1, 1, 4, 4).expand(8, -1, -1, -1)
    turned = image_episodes.turned(square, torch.arange(8))
    assert len({tuple(each.flatten().tolist()) for each in turned}) == 8
    assert torch.equal(turned[0], square[0])
    assert torch.equal(turned[1, 0], torch.rot90(square[0, 0]))


def test_shares_of_classes_as_in_the_mixtures_of_gaussians():
    batch = drawn(replace(EPISODES, k_min=1, k_max=4, n_max=100, concentration=5))
    sizes = batch.mask.sum(1)
    assert sizes.min() >= 30
    assert sizes.max() <= 100
    for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True):
        pairs = set(zip(labels[mask].tolist(), class_of(points[mask]).tolist(), strict=True))
        assert len(pairs) == len({label for label, _ in pairs}) <= 4


def test_binary_pixels_follow_the_grey_values():
    batch = drawn(replace(EPISODES, binary=True))
    assert set(batch.points.unique().tolist()) == {0.0, 1.0}
    assert (batch.points[..., 0, 0, 0] == 1).all()  # white stays white


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"symmetries": 3}, "symmetries must be one of"),
        ({"k_min": 9}, "k_min must be 1 to k_max = 8"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(EPISODES, **change)


def test_more_classes_than_there_are_are_refused():
    with pytest.raises(ValueError, match="numbered has 20 classes, not 25"):
        drawn(replace(EPISODES, k_max=25, left_out=("a",)))


def test_flat_images_are_vectors_of_their_pixels():
    batch, flat = drawn(EPISODES), drawn(replace(EPISODES, flat=True))
    assert flat.points.shape == (20, 40, 16)
    assert torch.equal(flat.points, batch.points.flatten(2))
    assert torch.equal(flat.labels, batch.labels)
