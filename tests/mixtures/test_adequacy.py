"""Mixtures that describe a set, and mixtures that only approximate it."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.datasets import make_circles, make_moons
from sklearn.mixture import GaussianMixture

from coterie.metrics import ari
from coterie.mixtures.adequacy import adequacy, draw, expected_ari, farthest_apart, least_own
from coterie.mixtures.gaussians import FullMixture
from coterie.mixtures.search import fit_mixture


@pytest.fixture(scope="module")
def mixture():
    covariance = np.array([[[1.0, 0.8], [0.8, 1.0]], [[0.5, 0.0], [0.0, 2.0]]])
    return FullMixture(np.log([0.3, 0.7]), np.array([[0.0, 0.0], [5.0, -3.0]]), covariance)


def test_draws_have_the_weights_means_and_covariances_of_the_mixture(mixture):
    drawn = draw(mixture, 40_000, np.random.default_rng(0))
    near = (drawn[:, 0] > 2.5).astype(int)
    for number, weight in enumerate((0.3, 0.7)):
        own = drawn[near == number]
        assert len(own) / len(drawn) == pytest.approx(weight, abs=0.02)
        np.testing.assert_allclose(own.mean(0), mixture.mean[number], atol=0.06)
        np.testing.assert_allclose(np.cov(own.T), mixture.covariance[number], atol=0.12)


def test_a_mixture_describes_its_own_draws(mixture):
    points = draw(mixture, 1_000, np.random.default_rng(1))
    fit = fit_mixture(points, np.zeros(len(points), dtype=int))
    assert fit.n_clusters == 2
    assert adequacy(points, fit).holds


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_gaussians_that_approximate_a_shape_do_not_describe_it(make):
    points, labels = make(800, noise=0.05, random_state=0)
    fit = fit_mixture(points, labels)
    assert fit.n_clusters > 2
    assert not adequacy(points, fit).holds


def test_heavy_tails_are_no_clusters():
    points = np.random.default_rng(0).standard_t(2, (1_000, 2))
    fit = fit_mixture(points, np.zeros(len(points), dtype=int))
    assert not adequacy(points, fit).holds


def test_a_mixture_of_another_set_does_not_describe_this_one(mixture):
    points = draw(mixture, 800, np.random.default_rng(2))
    fit = fit_mixture(points, np.zeros(len(points), dtype=int))
    assert not adequacy(points + np.array([0.5, 0.0]), fit).holds


def test_the_component_that_shares_most_counts():
    shares = np.array([[1.0, 0.0, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7], [0.0, 0.2, 0.8]])
    assert least_own(shares) == pytest.approx(0.75)


def test_the_expected_agreement_is_that_with_the_truth():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 6_000)
    points = rng.normal(size=(6_000, 2)) + 2.5 * labels[:, None] * [1, 0]
    model = GaussianMixture(2, random_state=0).fit(points)
    shares = model.predict_proba(points)
    assert expected_ari(shares) == pytest.approx(ari(labels, shares.argmax(1)), abs=0.03)


@pytest.mark.parametrize("rounded", [False, True])
def test_the_distance_of_two_samples_is_the_statistic_of_kolmogorov_and_smirnov(rounded):
    draw = np.random.default_rng(0)
    one, other = draw.normal(size=200), draw.normal(0.2, 1.3, size=311)
    if rounded:  # ties, within a sample and between both
        one, other = one.round(), other.round()
    assert farthest_apart(one, other) == pytest.approx(ks_2samp(one, other).statistic, abs=1e-15)
