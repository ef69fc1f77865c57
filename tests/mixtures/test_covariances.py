import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invwishart, multivariate_normal, norm

from coterie.mixtures.covariances import (
    STRENGTHS,
    VOLUME_SPREAD,
    Frame,
    common,
    covariances,
    evidence_by_strength,
    frame_of,
    log_evidence,
    with_reach,
)
from coterie.mixtures.gaussians import Moments, moments, products


def parts_of(points, labels):
    k = labels.max() + 1
    members = (labels == np.arange(k)[:, None]).astype(float)
    return moments(products(points), members, points.shape[1])


def shape_evidence(parts, base, strength, frame):
    """What is left of the evidence without that of the volume, and the scatter at that volume."""
    d = len(base)
    dof = parts.mass[0] - 1
    squares = np.trace(np.linalg.solve(base, parts.scatter[0]))
    imaginary = 2 / VOLUME_SPREAD**2
    volume = (squares + imaginary) / (dof * d + imaginary)
    cost = 0.5 * (
        math.log1p(0.5 * dof * d * VOLUME_SPREAD**2) + (math.log(volume) / VOLUME_SPREAD) ** 2
    )
    cost += 0.5 * dof * d * math.log(volume)
    return log_evidence(parts, base, strength, frame)[0] + cost, parts.scatter[0] / volume


def test_the_evidence_of_one_column_is_an_integral():
    """Brute force on five points: over the mean, given the variance, and over the variance."""
    values = np.array([0.3, -0.2, 0.9, 0.4, 0.1])
    base, strength = np.array([[0.5]]), 4.0
    frame = Frame(np.array([0.1]), np.array([[2.0]]), np.zeros(1), 5, reach=0.7)
    parts = moments(products(values[:, None]), np.ones((1, 5)), 1)
    found, scatter = shape_evidence(parts, base, strength, frame)
    own = float(covariances(parts, base, strength, frame.floor)[0, 0, 0])
    prior = invwishart(strength + 2, strength * 0.5)

    def of_variance(variance):  # of the scatter about the mean: four degrees of freedom
        fits = -0.5 * scatter[0, 0] / variance - 2.0 * math.log(2 * math.pi * variance)
        return math.exp(fits) * prior.pdf(variance)

    def of_mean(mean):  # at the posterior mean of the variance
        near = norm.pdf(values.mean(), mean, math.sqrt(own / 5))
        return near * norm.pdf(mean, 0.1, math.sqrt(0.7 * 2.0))

    spread, place = quad(of_variance, 0, np.inf)[0], quad(of_mean, -20, 20)[0]
    assert found == pytest.approx(math.log(spread) + math.log(place) - 0.5 * math.log(5), rel=1e-6)


def test_the_evidence_of_several_columns_is_a_mean_over_the_prior():
    """Monte Carlo over covariances of the prior, the mean as in closed form."""
    rng = np.random.default_rng(0)
    points = rng.normal(0, 0.8, (6, 2))
    frame, base, strength = frame_of(points), np.array([[0.7, 0.2], [0.2, 0.6]]), 16.0
    parts = moments(products(points), np.ones((1, 6)), 2)
    found, scatter = shape_evidence(parts, base, strength, frame)
    drawn = invwishart(strength + 3, strength * base).rvs(40_000, random_state=1)
    fits = -0.5 * np.einsum("nab,ab->n", np.linalg.inv(drawn), scatter)
    fits -= 2.5 * (np.linalg.slogdet(drawn)[1] + 2 * math.log(2 * math.pi))
    spread = math.log(np.exp(fits - fits.max()).mean()) + fits.max()
    own = covariances(parts, base, strength, frame.floor)[0]
    place = multivariate_normal.logpdf(parts.mean[0], frame.centre, frame.total + own / 6)
    assert found == pytest.approx(spread + place - math.log(6), abs=0.05)


def test_a_wider_cluster_has_a_larger_volume():
    """Of the same shape: tied covariances differ by a factor."""
    rng = np.random.default_rng(5)
    labels = np.arange(400) % 2
    points = rng.standard_normal((400, 3)) * np.array([1.0, 2.0])[labels][:, None]
    parts, frame = parts_of(points, labels), frame_of(points)
    own = covariances(parts, common(parts, frame).covariance, math.inf, frame.floor)
    assert own[1] / own[0] == pytest.approx(np.full((3, 3), own[1, 0, 0] / own[0, 0, 0]))
    assert own[1, 0, 0] / own[0, 0, 0] == pytest.approx(4, rel=0.15)


def test_an_infinite_strength_is_the_limit():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((40, 3))
    parts, frame = parts_of(points, np.arange(40) % 2), frame_of(points)
    base = common(parts, frame).covariance
    tied = log_evidence(parts, base, math.inf, frame)
    assert log_evidence(parts, base, 1e7, frame) == pytest.approx(tied, abs=1e-3)
    equal = covariances(parts, base, math.inf, frame.floor)
    near = covariances(parts, base, 1e9, np.zeros(3))
    assert near == pytest.approx(equal, rel=1e-3, abs=1e-6)


def test_bases_side_by_side_are_as_each_alone():
    rng = np.random.default_rng(6)
    labels = np.arange(60) % 3
    points = rng.standard_normal((2, 60, 4))
    each = [parts_of(some, labels) for some in points]
    parts = Moments(*(np.stack(both) for both in zip(*each, strict=True)))
    frame = frame_of(points[0])
    base = common(parts, frame)
    evidence = evidence_by_strength(parts, base.covariance, STRENGTHS, frame)
    for number, own in enumerate(each):
        alone = common(own, frame)
        np.testing.assert_allclose(base.covariance[number], alone.covariance)
        assert base.cost[number] == pytest.approx(alone.cost)
        expected = [log_evidence(own, alone.covariance, one, frame) for one in STRENGTHS]
        np.testing.assert_allclose(evidence[:, number], expected)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_units_of_columns_do_not_matter(strength):
    """Other units change the density by their Jacobian, for all strengths and partitions alike."""
    rng = np.random.default_rng(3)
    points, units = rng.standard_normal((60, 4)), np.array([1e-3, 1.0, 20.0, 5.0])
    labels = rng.integers(0, 3, 60)

    def evidence(points):
        parts = parts_of(points, labels)
        frame = with_reach(frame_of(points), parts)
        base = common(parts, frame)
        return log_evidence(parts, base.covariance, strength, frame).sum() - base.cost

    jacobian = 60 * np.log(units).sum()
    assert evidence(points * units) == pytest.approx(evidence(points) - jacobian)


def test_fewer_points_than_columns_have_a_covariance():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((12, 8))
    parts, frame = parts_of(points, np.repeat([0, 1, 2], 4)), frame_of(points)
    base = common(parts, frame)
    for strength in STRENGTHS:
        own = covariances(parts, base.covariance, strength, frame.floor)
        assert (np.linalg.eigvalsh(own) > 0).all()
        assert np.isfinite(log_evidence(parts, base.covariance, strength, frame)).all()


def test_the_reach_is_how_far_means_spread():
    frame = Frame(np.zeros(1), np.ones((1, 1)), np.zeros(1), 100)
    near = Moments(np.array([50.0, 50.0]), np.array([[-0.1], [0.1]]), np.ones((2, 1, 1)))
    far = near._replace(mean=np.array([[-0.6], [0.6]]))
    assert with_reach(frame, near).reach == 0.2  # the least
    assert with_reach(frame, far).reach == pytest.approx(2 * 0.36)
