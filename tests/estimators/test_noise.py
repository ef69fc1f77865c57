"""Noise in the standard frame: scattered points are labelled -1, clusters are not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_moons

import coterie
from coterie.inference.result import NOISE

WEIGHTS = "amcp-universal-small"


def scattered(points, n_points, seed):
    """Uniform up to ten times as far from the centre as the points reach."""
    draw = np.random.default_rng(seed)
    centre = points.mean(0)
    return centre + draw.uniform(-10, 10, (n_points, 2)) * np.abs(points - centre).max(0)


@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
@pytest.mark.parametrize("n_scattered", [5, 20, 60])
def test_scattered_points_are_noise_and_blobs_are_found(n_scattered):
    centres = [(0, 0), (9, 0), (0, 9), (9, 9)]
    points, truth = make_blobs(400, centers=centres, random_state=0)
    table = np.concatenate([points, scattered(points, n_scattered, seed=0)])
    model = coterie.AMCP(WEIGHTS, noise=True).fit(table)
    assert model.n_clusters_ == len(np.unique(truth))
    assert (model.labels_[400:] == NOISE).mean() >= 0.95
    assert (model.labels_[:400] == NOISE).mean() <= 0.01
    again = model.predict(table)
    np.testing.assert_array_equal(again, model.labels_)


def test_shapes_have_no_noise():
    points, _ = make_moons(400, noise=0.05, random_state=0)
    labels = coterie.AMCP(WEIGHTS, noise=True).fit(points).labels_
    assert (labels == NOISE).mean() <= 0.01


@pytest.mark.filterwarnings("ignore:columns encoded as categories:UserWarning")
def test_a_rare_category_is_no_noise():
    points, _ = make_blobs(300, centers=3, random_state=0)
    kind = np.where(np.arange(300) % 60 == 0, "rare", "usual")
    frame = pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "kind": kind})
    labels = coterie.AMCP(WEIGHTS, noise=True).fit(frame).labels_
    assert (labels == NOISE).mean() <= 0.01
