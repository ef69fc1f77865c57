import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from coterie.metrics import ari
from coterie.mixtures.search import fit_mixture

PLACES = np.array(
    [
        [0, 0],
        [3.7, 0],
        [12, 0],
        [0, 12],
        [12, 12],
        [-12, 0],
        [0, -12],
        [-12, -12],
        [-12, 12],
        [12, -12],
    ]
)


def ten(n_points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten Gaussians of which two are 3.7 standard deviations apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, n_points)
    return PLACES[labels] + rng.standard_normal((n_points, 2)), labels


def bayes(points):
    return np.square(points[:, None] - PLACES).sum(-1).argmin(1)


@pytest.fixture
def three():
    """Three slanted, overlapping clusters in four columns."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [150, 100, 80])
    factor = np.eye(4) + 0.4 * rng.standard_normal((3, 4, 4))
    points = np.einsum("nab,nb->na", factor[labels], rng.standard_normal((330, 4)))
    return points + 3.5 * np.eye(3, 4)[labels], labels


@pytest.mark.parametrize("n_points", [1000, 4000])
@pytest.mark.parametrize("start", ["merged", "split"])
def test_two_neighbours_are_told_apart_and_a_halved_cluster_is_one(n_points, start):
    points, labels = ten(n_points, 1)
    if start == "merged":
        first = np.where(labels == 1, 0, labels)
    else:
        first = np.where((labels == 4) & (points[:, 0] > 12), 10, labels)
    fit = fit_mixture(points, first)
    assert fit.n_clusters == 10
    assert ari(labels, fit.labels) > ari(labels, bayes(points)) - 0.01


def test_the_answer_is_a_mixture_of_the_points_in_their_own_units(three):
    points, labels = three
    fit = fit_mixture(points, labels)
    joint = np.stack(
        [
            log_weight + multivariate_normal.logpdf(points, mean, covariance)
            for log_weight, mean, covariance in zip(*fit.mixture, strict=True)
        ],
        1,
    )
    assert np.exp(fit.mixture.log_weight).sum() == pytest.approx(1)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    assert posterior == pytest.approx(fit.responsibilities, abs=1e-6)
    assert logsumexp(joint, axis=1).sum() == pytest.approx(fit.log_likelihood)
    assert (fit.labels == fit.responsibilities.argmax(1)).all()


def test_it_is_near_what_scikit_learn_finds_given_k(three):
    points, labels = three
    fit = fit_mixture(points, (labels + np.arange(330) % 7 // 6) % 3)
    peer = GaussianMixture(3, n_init=5, random_state=0).fit(points)
    assert fit.n_clusters == 3
    assert fit.log_likelihood > peer.score(points) * 330 - 10
    assert ari(peer.predict(points), fit.labels) > 0.9


def test_the_order_of_points_and_labels_does_not_matter(three):
    points, labels = three
    order = np.random.default_rng(1).permutation(330)
    fit, turned = fit_mixture(points, labels), fit_mixture(points[order], 2 - labels[order])
    assert turned.n_clusters == fit.n_clusters
    assert ari(fit.labels[order], turned.labels) == 1
    assert max(turned.log_evidence.values()) == pytest.approx(max(fit.log_evidence.values()))


def test_the_units_of_columns_do_not_matter(three):
    points, labels = three
    units = np.array([1e-3, 1.0, 50.0, 3.0])
    fit, other = fit_mixture(points, labels), fit_mixture(points * units + 7, labels)
    assert (fit.labels == other.labels).all()
    assert other.mixture.mean == pytest.approx(fit.mixture.mean * units + 7, rel=1e-3, abs=1e-2)


def test_one_gaussian_is_one_cluster_whatever_the_start():
    rng = np.random.default_rng(3)
    for d in (2, 5, 20):
        points = rng.standard_normal((400, d)) @ rng.standard_normal((d, d))
        for k in (1, 4):
            assert fit_mixture(points, rng.integers(0, k, 400)).n_clusters == 1


def test_two_clusters_are_found_from_one():
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1], 200)
    points = rng.standard_normal((400, 6)) + 5 * labels[:, None] * np.eye(1, 6)
    fit = fit_mixture(points, np.full(400, -1))
    assert ari(labels, fit.labels) > 0.95


@pytest.mark.parametrize(("at_least", "at_most"), [(1, 2), (5, 5), (4, 6), (2, 2)])
def test_the_number_of_clusters_is_kept_in_range(three, at_least, at_most):
    points, labels = three
    fit = fit_mixture(points, labels, at_least=at_least, at_most=at_most)
    assert at_least <= fit.n_clusters <= at_most
    assert all(at_least <= k <= at_most for k in fit.log_evidence)
    assert fit.n_clusters == max(fit.log_evidence, key=fit.log_evidence.__getitem__)


def test_probabilities_of_k_follow_the_evidence(three):
    points, labels = three
    fit = fit_mixture(points, labels)
    belief = fit.k_probabilities()
    assert belief.sum() == pytest.approx(1)
    assert belief.argmax() == fit.n_clusters
    k = fit.n_clusters
    ratio = fit.log_evidence[k] - fit.log_evidence[k - 1]
    assert math.log(belief[k] / max(belief[k - 1], 1e-300)) == pytest.approx(
        min(ratio, 690), rel=0.2
    )


@pytest.mark.parametrize("kind", ["constant column", "equal rows", "few points", "whole numbers"])
def test_odd_tables_have_an_answer(kind):
    rng = np.random.default_rng(5)
    points = rng.standard_normal((60, 3)) + 4 * (np.arange(60) % 2)[:, None]
    if kind == "constant column":
        points[:, 1] = 2.0
    elif kind == "equal rows":
        points = np.repeat(points[:6], 10, 0)
    elif kind == "few points":
        points = points[:5]
    else:
        points = points.round()
    fit = fit_mixture(points, np.arange(len(points)) % 2)
    assert np.isfinite(fit.responsibilities).all()
    assert np.isfinite(list(fit.log_evidence.values())).all()


def test_labels_must_be_as_many_as_points():
    with pytest.raises(ValueError, match="3 points, 2 labels"):
        fit_mixture(np.eye(3), np.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="too few"):
        fit_mixture(np.eye(6), np.zeros(6, dtype=int), at_least=5)
