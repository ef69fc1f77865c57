"""Mixtures that describe a set, and mixtures that only approximate it."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from coterie.metrics import ari
from coterie.mixtures import adequacy
from coterie.mixtures.adequacy import (
    describes,
    distances_apart,
    draw,
    expected_ari,
    least_own,
    neighbour_shares,
)
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
    assert describes(points, fit)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_gaussians_that_approximate_a_shape_do_not_describe_it(make):
    points, labels = make(800, noise=0.05, random_state=0)
    fit = fit_mixture(points, labels)
    assert fit.n_clusters > 2
    assert not describes(points, fit)


def test_heavy_tails_are_no_clusters():
    points = np.random.default_rng(0).standard_t(2, (1_000, 2))
    fit = fit_mixture(points, np.zeros(len(points), dtype=int))
    assert not describes(points, fit)


def test_a_mixture_of_another_set_does_not_describe_this_one(mixture):
    points = draw(mixture, 800, np.random.default_rng(2))
    fit = fit_mixture(points, np.zeros(len(points), dtype=int))
    assert not describes(points + np.array([0.5, 0.0]), fit)


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


@pytest.mark.parametrize("d", [2, 12])
def test_neighbours_are_those_of_scikit_learn(d):
    rng = np.random.default_rng(d)
    one, other = rng.normal(size=(200, d)), rng.normal(0.3, 1, (150, d))
    one[:20] = one[0]  # more rows at one place than are neighbours
    both, of_other = np.concatenate([one, other]), np.repeat([False, True], [200, 150])
    search = NearestNeighbors(n_neighbors=5).fit(both)
    same = of_other[search.kneighbors(return_distance=False)] == of_other[:, None]
    expected = same[:200].mean(), same[200:].mean()
    assert neighbour_shares(one, other) == pytest.approx(expected)


def test_distances_are_apart_as_kolmogorov_and_smirnov_say():
    rng = np.random.default_rng(3)
    mixture = FullMixture(np.zeros(1), np.zeros((1, 2)), np.eye(2)[None])
    points, drawn = rng.normal(0, 1.2, (300, 2)), rng.normal(size=(500, 2))
    squares = [np.square(each).sum(1) for each in (points, drawn)]
    expected = ks_2samp(*squares).statistic * np.sqrt(300) / (1.4 + 0.5 * 2 / np.sqrt(300))
    assert distances_apart(points, drawn, mixture) == pytest.approx(expected)


@pytest.mark.parametrize("n_clusters", [1, 2, 6])
def test_the_agreement_is_that_of_scikit_learn(n_clusters):
    rng = np.random.default_rng(n_clusters)
    labels, others = rng.integers(0, n_clusters, (2, 300))
    others[:200] = labels[:200]
    expected = adjusted_rand_score(labels, others)
    assert adequacy._ari(others, labels, n_clusters) == pytest.approx(expected)
