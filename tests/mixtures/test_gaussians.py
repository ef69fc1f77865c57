import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from coterie.mixtures.gaussians import (
    FullMixture,
    expectation,
    form_of,
    log_joint,
    moments,
    moments_of_sums,
    products,
    upper_pairs,
)


def some_mixture(k: int, d: int, rng: np.random.Generator) -> FullMixture:
    factor = 0.3 * rng.standard_normal((k, d, d)) + np.eye(d)
    weight = rng.dirichlet(np.full(k, 3.0))
    return FullMixture(np.log(weight), rng.normal(0, 2, (k, d)), factor @ factor.transpose(0, 2, 1))


@pytest.mark.parametrize("d", [1, 2, 7])
def test_densities_are_those_of_scipy(d):
    rng = np.random.default_rng(d)
    mixture, points = some_mixture(3, d, rng), rng.normal(0, 2, (40, d))
    expected = np.stack(
        [
            log_weight + multivariate_normal.logpdf(points, mean, covariance)
            for log_weight, mean, covariance in zip(*mixture, strict=True)
        ]
    )
    joint = log_joint(products(points), mixture)
    assert joint == pytest.approx(expected.reshape(joint.shape))
    found = expectation(joint.copy())
    assert found.log_likelihood == pytest.approx(logsumexp(joint, axis=0))
    assert found.responsibilities == pytest.approx(np.exp(joint - found.log_likelihood))


def test_mixtures_side_by_side_are_as_each_alone():
    rng = np.random.default_rng(5)
    points, weights = rng.standard_normal((30, 3)), rng.random((4, 2, 30))
    rows = products(points)
    together = moments_of_sums(weights @ rows.T, 3)
    mixtures = [some_mixture(2, 3, rng) for _ in range(4)]
    forms = form_of(FullMixture(*(np.stack(parts) for parts in zip(*mixtures, strict=True))))
    for number, mixture in enumerate(mixtures):
        for found, expected in zip(together, moments(rows, weights[number], 3), strict=True):
            np.testing.assert_allclose(found[number], expected)
        np.testing.assert_allclose(forms[number] @ rows, log_joint(rows, mixture))


def test_moments_are_weighted_means_and_scatters():
    rng = np.random.default_rng(0)
    points, weights = rng.standard_normal((50, 3)), rng.random((2, 50))
    found = moments(products(points), weights, 3)
    for j in range(2):
        assert found.mass[j] == pytest.approx(weights[j].sum())
        assert found.mean[j] == pytest.approx(np.average(points, axis=0, weights=weights[j]))
        covariance = np.cov(points.T, aweights=weights[j], bias=True)
        assert found.scatter[j] == pytest.approx(covariance * weights[j].sum())


def test_em_steps_are_those_of_scikit_learn():
    """From the same start, without any shrinkage."""
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(0, 1, (80, 3)), rng.normal(2.5, 1.5, (60, 3))])
    start = (rng.random((2, 140)) + 0.5).round(2)
    start /= start.sum(0)
    responsibilities, rows = start, products(points)
    for _ in range(5):
        parts = moments(rows, responsibilities, 3)
        own = parts.scatter / parts.mass[:, None, None]
        mixture = FullMixture(np.log(parts.mass / 140), parts.mean, own)
        responsibilities = expectation(log_joint(rows, mixture)).responsibilities

    peer = GaussianMixture(2, reg_covar=0.0)
    peer._initialize(points, start.T)
    for _ in range(4):
        _, log_responsibilities = peer._e_step(points)
        peer._m_step(points, log_responsibilities)
    assert mixture.mean == pytest.approx(peer.means_)
    assert mixture.covariance == pytest.approx(peer.covariances_)
    assert np.exp(mixture.log_weight) == pytest.approx(peer.weights_)
    expected = peer.predict_proba(points)
    assert pytest.approx(expected) == responsibilities.T


def test_pairs_stand_above_the_diagonal():
    first, second = upper_pairs(4)
    assert len(first) == 10
    assert (first <= second).all()
