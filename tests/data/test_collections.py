import hashlib
import os

import numpy as np
import pytest
import torch

from coterie.data import collections
from coterie.data.augmentation import DigitViews
from coterie.data.collections import (
    ImageCollection,
    LabelledImages,
    epoch_order,
    open_collection,
)


@pytest.fixture
def source(monkeypatch, tmp_path) -> ImageCollection:
    images = np.arange(50, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 8, 8), np.uint8)
    held = LabelledImages(images, np.arange(50) % 3, 40)
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setitem(collections.LOADERS, "numbered", lambda folder: held)
    collections.open_collection.cache_clear()
    collections._on_device.cache_clear()
    return ImageCollection("numbered", 50, DigitViews(), n_views=2, batch=8)


def order_of(source: ImageCollection, step: int) -> list[int]:
    return epoch_order(source, torch.tensor(step)).tolist()


def test_an_epoch_shows_an_image_at_most_once(source):
    assert source.steps_per_epoch == 6
    for epoch in range(3):
        shown = [i for step in range(6) for i in order_of(source, 6 * epoch + step)]
        assert len(shown) == len(set(shown)) == 48
        assert min(shown) >= 0
        assert max(shown) < 50


def test_every_epoch_and_seed_has_an_order_of_its_own(source):
    other = ImageCollection("numbered", 50, DigitViews(), batch=8, seed=1)
    orders = [order_of(source, 0), order_of(source, 6), order_of(other, 0)]
    assert len({tuple(order) for order in orders}) == 3
    assert order_of(source, 0) == orders[0]


def test_orders_have_no_order():
    """Neighbours in the collection are not neighbours in an epoch."""
    source = ImageCollection("numbered", 20_000, DigitViews(), batch=20_000)
    order = epoch_order(source, torch.tensor(3)).double()
    assert abs(float(torch.corrcoef(torch.stack([order[:-1], order[1:]]))[0, 1])) < 0.03
    steps = torch.arange(20_000, dtype=torch.float64)
    assert abs(float(torch.corrcoef(torch.stack([order, steps]))[0, 1])) < 0.03


def test_a_step_shows_views_of_its_images(source):
    still = DigitViews(rotation=0, shear=0, scale=0, shift=0, warp=0, thick=0)
    source = ImageCollection("numbered", 50, still, n_views=2, batch=8)
    batch = source.sample(1, torch.Generator().manual_seed(0), torch.tensor(2))
    assert batch.points.shape == (1, 8, 2, 1, 8, 8)
    assert batch.labels is None
    assert batch.mask.all()
    shown = (batch.points[0, :, :, 0, 4, 4] * 255).round().long()
    assert shown[:, 0].tolist() == shown[:, 1].tolist() == order_of(source, 2)


def test_views_of_one_image_differ(source):
    batch = source.sample(1, torch.Generator().manual_seed(0), torch.tensor(0))
    assert not torch.equal(batch.points[0, :, 0], batch.points[0, :, 1])


def test_a_collection_is_one_set(source):
    with pytest.raises(ValueError, match="n_sets must be 1, got 2"):
        source.sample(2, torch.Generator(), torch.tensor(0))


def test_more_images_than_there_are_is_refused(source):
    many = ImageCollection("numbered", 51, DigitViews(), batch=8)
    with pytest.raises(ValueError, match="numbered has 50 images, not 51"):
        many.sample(1, torch.Generator(), torch.tensor(0))


def test_unknown_collections_and_a_missing_folder_are_refused(monkeypatch):
    open_collection.cache_clear()
    with pytest.raises(ValueError, match="unknown collection 'stl'; known: cifar10, mnist"):
        open_collection("stl")
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    with pytest.raises(ValueError, match="set COTERIE_DATA to the folder"):
        open_collection("mnist")


@pytest.fixture
def data() -> None:
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")


@pytest.mark.data
def test_mnist_is_whole(data):
    images, labels, n_train = open_collection("mnist")
    assert images.shape == (70_000, 1, 28, 28)
    assert np.bincount(labels[:n_train]).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]


@pytest.mark.data
@pytest.mark.slow
def test_cifar10_is_decoded_bit_for_bit(data):
    images, labels, n_train = open_collection("cifar10")
    digest = hashlib.sha256(images.transpose(0, 2, 3, 1).tobytes()).hexdigest()
    assert digest == "0ac3ab5c78edb36ac68f69e287fd8f957b2d4f820b80e5fa9bd05c810fc0d95d"
    assert np.bincount(labels[:n_train]).tolist() == [5_000] * 10
