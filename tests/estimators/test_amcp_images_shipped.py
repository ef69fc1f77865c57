"""The shipped models of images, on sets of classes that they have not seen."""

import os
import warnings

import numpy as np
import pytest

import coterie
from coterie.data.pools import open_pool
from coterie.metrics import accuracy
from coterie.training.set_scores import draw_set

pytestmark = pytest.mark.xdist_group("cifar10")  # whose images take long to decode

if not os.environ.get("COTERIE_DATA"):
    pytest.skip(
        "COTERIE_DATA does not name a folder with the real data sets", allow_module_level=True
    )


def shown(pool, n_images, n_classes, seed=0):
    """Images (n, H, W, C) of some classes of a pool, and the classes."""
    held = open_pool(pool)
    drawn = draw_set(held, n_images, n_classes, np.random.default_rng(seed))
    return held.images[drawn.rows].transpose(0, 2, 3, 1), drawn.truth


def test_digits_that_it_has_not_seen_are_told_apart():
    images, truth = shown("mnist-odd", 400, 5)
    model = coterie.AMCP("amcp-mnist").fit(images[..., 0])
    assert model.n_clusters_ == 5
    assert accuracy(truth, model.labels_) > 0.95
    again, others = shown("mnist-odd", 100, 5, seed=1)
    assert accuracy(others, model.predict(again[..., 0])) > 0.95


def test_a_number_of_digits_that_is_told_is_kept():
    images, truth = shown("mnist-odd", 600, 5, seed=2)
    model = coterie.AMCP("amcp-mnist", n_clusters=5).fit(images[..., 0])
    assert model.n_clusters_ == 5
    assert accuracy(truth, model.labels_) > 0.95


def test_photographs_of_classes_that_it_has_not_seen_are_told_apart():
    images, truth = shown("cifar10-odd", 600, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = coterie.AMCP("amcp-cifar10").fit(images)
    assert accuracy(truth, model.labels_) > 0.8
