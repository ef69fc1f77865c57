"""The shipped models of CHiGac on the sets that they are for."""

from statistics import fmean

import numpy as np
import pytest
import torch

import coterie
from coterie.data.pools import open_pool
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.metrics import ari


def mean_ari(model, prior, n_sets, seed):
    batch = prior.sample(n_sets, torch.Generator().manual_seed(seed))
    return fmean(
        ari(labels[mask].numpy(), model.fit(points[mask].double().numpy()).labels_)
        for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True)
    )


def test_up_to_twelve_clusters_after_training_with_four():
    model = coterie.CHiGac("chigac-mog2d", random_state=0)
    assert mean_ari(model, MixtureOfGaussians(n_max=1500, k_max=12), 6, seed=3) > 0.9


def twelve_clusters(seed):
    """1,200 points, about a hundred in each cluster; some clusters touch."""
    random = np.random.default_rng(seed)
    labels = random.integers(12, size=1200)
    centres = 3 * random.normal(size=(12, 2))
    return centres[labels] + 0.25 * random.normal(size=(1200, 2)), labels


def test_exactly_twelve_clusters_after_training_with_four():
    model = coterie.CHiGac("chigac-mog2d", random_state=0)
    sets = [twelve_clusters(seed) for seed in range(3)]
    found = [model.fit_predict(points) for points, _ in sets]
    assert min(labels.max() + 1 for labels in found) > 9
    scores = [ari(truth, labels) for (_, truth), labels in zip(sets, found, strict=True)]
    assert fmean(scores) > 0.85  # the loop alone has 0.56, DAC 0.92


def test_further_looks_are_what_does_it():
    loop = coterie.CHiGac("chigac-mog2d", ending="network", random_state=0)
    looks = coterie.CHiGac("chigac-mog2d", random_state=0)
    prior = MixtureOfGaussians(n_max=1500, k_max=12)
    assert mean_ari(looks, prior, 8, seed=4) > mean_ari(loop, prior, 8, seed=4) + 0.02


def test_rows_that_were_fitted_are_predicted_as_they_are():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    rows = np.concatenate([rows, rows[:40]])  # rows that stand there twice
    model = coterie.CHiGac("chigac-mog2d", random_state=0).fit(rows)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.data
def test_digits_of_other_images():
    pool = open_pool("mnist-test")
    random = np.random.default_rng(0)
    rows = random.choice(len(pool.labels), 200, replace=False)
    found = coterie.CHiGac("chigac-mnist", random_state=0).fit_predict(pool.images[rows, 0])
    assert ari(pool.labels[rows], found) > 0.93
