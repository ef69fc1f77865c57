"""Mixtures by products of quadratic terms, against scikit-learn's."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from coterie.judge.arms import by_bic, fit_mixtures, lloyd, merged, ward_cuts
from coterie.judge.gaussians import moments_of, quadratic_terms, weighted_forms


@pytest.fixture
def three_gaussians():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [200, 100, 100])
    points = rng.normal(size=(400, 3)) * [1.0, 0.5, 2.0]
    return points + np.array([[0, 0, 0], [5, 1, 0], [0, 4, 6.0]])[labels], labels


def test_forms_are_log_densities(three_gaussians):
    points, labels = three_gaussians
    terms = quadratic_terms(points)
    moments = moments_of(np.eye(3)[labels], terms, 3)
    found = terms @ weighted_forms(moments, moments.covariance, len(points)).T
    for number in range(3):
        density = multivariate_normal(moments.mean[number], moments.covariance[number])
        expected = density.logpdf(points) + np.log(moments.mass[number] / 400)
        np.testing.assert_allclose(found[:, number] - 1.5 * np.log(2 * np.pi), expected, rtol=1e-9)


def test_bic_finds_three_and_is_near_that_of_scikit_learn(three_gaussians):
    points, labels = three_gaussians
    starts = [
        np.zeros(400, np.int16),
        *(lloyd(points, own) for own in ward_cuts(points, (2, 3, 4))),
    ]
    fits = fit_mixtures(points, starts)
    best = by_bic(fits, 1)[0]
    assert adjusted_rand_score(best.labels, labels) > 0.97
    theirs = GaussianMixture(3, n_init=3, random_state=0).fit(points).bic(points)
    assert best.bic == pytest.approx(theirs, rel=0.01)


def test_mixtures_fitted_together_are_as_fitted_alone(three_gaussians):
    points, _ = three_gaussians
    starts = ward_cuts(points, (2, 5))
    together = fit_mixtures(points, starts, "diag")
    for start, fit in zip(starts, together, strict=True):
        (alone,) = fit_mixtures(points, [start], "diag")
        np.testing.assert_array_equal(fit.labels, alone.labels)
        assert fit.bic == pytest.approx(alone.bic)


def test_halves_of_one_cluster_are_joined_first():
    share = np.zeros((90, 3))
    share[:30, 0] = 1.0
    share[30:, 1:] = np.random.default_rng(0).dirichlet([1.0, 1.0], 60)  # nobody knows which
    (joined,) = merged(share)
    np.testing.assert_array_equal(joined, np.repeat([0, 1], [30, 60]))
