import hashlib
import os

import numpy as np
import pytest
import torch

from coterie.data import pools
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.pools import ImagePool, open_pool
from coterie.training.episode_recipes import DAC_OMNIGLOT, DAC_OMNIGLOT_STUDY, HELD_OUT_ALPHABETS
from coterie.training.image_set_recipes import image_set_recipes


@pytest.fixture
def pool() -> ImagePool:
    """Five classes of two images in three groups; the pixels are the number of the image."""
    images = np.arange(10, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 2, 2), np.uint8)
    counts, groups = np.full(5, 2), np.array([0, 0, 1, 2, 2])
    return ImagePool(images, counts, tuple("abcde"), groups, ("first", "second", "third"))


def test_a_part_of_a_pool_keeps_images_and_classes_together(pool):
    part = pool.only(("third", "first"))
    assert part.images[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert part.class_names == ("a", "b", "d", "e")
    assert part.groups.tolist() == [0, 0, 1, 1]
    assert part.group_names == ("first", "third")
    assert part.labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert pool.without(("second",)).class_names == part.class_names


def test_unknown_groups_and_pools_are_refused(pool):
    with pytest.raises(ValueError, match="no group fourth; known: first, second, third"):
        pool.without(("fourth",))
    with pytest.raises(ValueError, match=r"unknown pool 'moons'; known: .*omniglot-background"):
        open_pool("moons")


def test_omniglot_is_read_by_character(monkeypatch, tmp_path):
    """Two alphabets of one and two characters, whose drawings lie in no order."""
    draw = np.random.default_rng(0)
    pages = draw.random((60, 105 * 105)) < 0.05
    characters = draw.permutation(np.repeat(np.arange(3), 20)).astype(np.int16)
    held = {
        "background_bits": np.packbits(pages, axis=1),
        "background_character": characters,
        "background_alphabet": (characters > 0).astype(np.uint8),
        "background_character_id": (characters + 100).astype(np.int16),
        "background_alphabet_names": np.array(["Runes", "Knots"]),
    }
    np.savez(tmp_path / "omniglot.npz", **held)
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    pool = pools.POOLS["omniglot-background"](tmp_path)
    assert pool.images.shape == (60, 1, 28, 28)
    assert pool.counts.tolist() == [20, 20, 20]
    assert pool.class_names == ("Runes/100", "Knots/101", "Knots/102")
    assert pool.groups.tolist() == [0, 1, 1]
    # A drawing is where its character is: the darkest and the brightest parts stay.
    number = int(np.flatnonzero(characters == 1)[4])
    page = pages[number].reshape(105, 105)
    other = pages[int(np.flatnonzero(characters == 1)[5])].reshape(105, 105)
    assert abs(np.corrcoef(pool.images[24, 0].ravel(), _shrunk(other).ravel())[0, 1]) < 0.3
    assert np.corrcoef(pool.images[24, 0].ravel(), _shrunk(page).ravel())[0, 1] > 0.85


def _shrunk(page):
    """The ink in each part of a page of thicker strokes."""
    edges = np.linspace(0, 105, 29).round().astype(int)
    thick = np.zeros_like(page)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            thick |= np.roll(page, (down, right), (0, 1))
    rows = np.add.reduceat(thick.astype(float), edges[:-1], axis=0)
    return np.add.reduceat(rows, edges[:-1], axis=1)


@pytest.fixture(scope="module")
def real() -> tuple[ImagePool, ImagePool]:
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    open_pool.cache_clear()
    return open_pool("omniglot-background"), open_pool("omniglot-evaluation")


def test_no_evaluation_image_is_trained_on(real):
    background, evaluation = real
    assert (len(background.counts), len(evaluation.counts)) == (964, 659)
    assert not set(background.group_names) & set(evaluation.group_names)
    assert not set(background.class_names) & set(evaluation.class_names)
    seen, unseen = (
        {hashlib.sha256(image.tobytes()).digest() for image in pool.images} for pool in real
    )
    assert not seen & unseen
    for recipe in (DAC_OMNIGLOT, DAC_OMNIGLOT_STUDY):
        assert recipe.prior.pool == "omniglot-background"


def test_a_study_never_sees_the_alphabets_it_is_scored_on(real):
    kept = real[0].without(DAC_OMNIGLOT_STUDY.prior.left_out)
    assert not set(kept.group_names) & set(HELD_OUT_ALPHABETS)
    assert len(kept.counts) == 795
    assert len(kept.group_names) == 25
    assert "25 of 30" in DAC_OMNIGLOT_STUDY.trained_on


def test_every_fourth_image_of_a_seen_character_is_held_out(monkeypatch, tmp_path):
    labels = np.tile(np.arange(47, dtype=np.uint8), 8)  # 8 images of each of 47 characters
    images = np.arange(len(labels), dtype=np.uint16).astype(np.uint8)[:, None, None]
    images = images * np.ones((1, 2, 2), np.uint8)
    np.savez(tmp_path / "emnist_bymerge_subset.npz", x=images, y=labels, class_chars=np.arange(47))
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    open_pool.cache_clear()
    train, test, seen = (open_pool(f"emnist-seen{part}") for part in ("-train", "-test", ""))
    open_pool.cache_clear()
    assert set(train.counts) == {6}
    assert set(test.counts) == {2}
    assert len(train.counts) == len(test.counts) == 30
    first = {part.images[part.labels == 3][:, 0, 0, 0].tobytes() for part in (train, test)}
    assert len(first) == 2
    both = np.concatenate([part.images[part.labels == 3] for part in (train, test)])
    assert sorted(both[:, 0, 0, 0]) == sorted(seen.images[seen.labels == 3][:, 0, 0, 0])


SIDES = {
    "mnist": ("mnist-even", "mnist-odd"),
    "cifar10": ("cifar10-even", "cifar10-odd"),
    "tinyimagenet": ("tinyimagenet-first", "tinyimagenet-last"),
}


def digests(images):
    return {hashlib.sha256(image.tobytes()).digest() for image in images}


@pytest.mark.parametrize(
    "data", ["mnist", pytest.param("cifar10", marks=pytest.mark.slow), "tinyimagenet"]
)
def test_no_image_class_or_label_of_the_test_side_is_trained_on(real, data):
    """AMCP, appendix C.1: neither by the recipes nor in what they may draw."""
    train, test = map(open_pool, SIDES[data])
    expected = {
        "mnist": [set("02468"), set("13579")],
        "cifar10": [
            {"airplane", "bird", "deer", "frog", "ship"},
            {"automobile", "cat", "dog", "horse", "truck"},
        ],
    }
    names = [set(train.class_names), set(test.class_names)]
    assert names == expected.get(data, names)
    assert not names[0] & names[1]
    assert len(names[0]) == len(names[1]) == (100 if data == "tinyimagenet" else 5)
    assert not digests(train.images) & digests(test.images)
    assert len(train.images) == train.counts.sum()
    for recipe in image_set_recipes(data):
        assert recipe.prior.pool == SIDES[data][0]


@pytest.mark.parametrize("data", ["mnist", "tinyimagenet"])
def test_what_training_draws_is_of_the_training_side_alone(real, data):
    """Every image of a drawn set, without views, is one of the pool's."""
    known = digests(open_pool(SIDES[data][0]).images)
    episodes = ImageEpisodes(SIDES[data][0], n_max=300, k_max=5, concentration=5, any_k=True)
    batch = episodes.sample(2, torch.Generator().manual_seed(0))
    drawn = (batch.points[batch.mask] * 255).round().to(torch.uint8).numpy()
    assert digests(drawn) <= known


def test_sets_of_ten_thousand_images_can_be_drawn(real):
    episodes = ImageEpisodes("mnist-even", n_max=10_000, k_max=5, concentration=5)
    batch = episodes.sample(1, torch.Generator().manual_seed(0))
    assert batch.points.shape == (1, 10_000, 1, 28, 28)
    assert int(batch.mask.sum()) >= 3_000


def test_the_first_classes_of_a_pool(pool):
    part = pool.first(2)
    assert part.class_names == ("a", "b")
    assert len(part.images) == 4
    assert pool.first(None) is pool
    with pytest.raises(ValueError, match="there are 5 classes, not 6"):
        pool.first(6)
