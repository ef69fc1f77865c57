import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from coterie.functional.em import Gaussians, expectation, maximisation
from coterie.mixtures.em import (
    PSEUDO_COUNT,
    Fit,
    Mixture,
    estimate,
    explain,
    improve,
    log_density,
    settle,
)


def random_case(seed: int, n_points: int = 40, n_clusters: int = 4, columns: int = 2):
    """Points (D, N) and a mixture whose components share them."""
    normal = np.random.default_rng(seed).normal
    weight = np.exp(normal(size=n_clusters))
    shape = n_clusters, columns
    mixture = Mixture(np.log(weight / weight.sum()), normal(size=shape), 0.2 * normal(size=shape))
    return normal(size=(columns, n_points)), mixture


def as_tensors(mixture: Mixture) -> Gaussians:
    return Gaussians(*map(torch.from_numpy, mixture))


CASES = {
    "seed": st.integers(0, 2**31),
    "n_points": st.integers(1, 50),
    "n_clusters": st.integers(1, 6),
    "columns": st.integers(1, 3),
}


@given(**CASES)
@settings(max_examples=30)
def test_the_steps_are_those_of_the_differentiable_em(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    fit = explain(points, mixture)
    rows = torch.from_numpy(points.T.copy())
    log_responsibilities, log_likelihood = expectation(rows, as_tensors(mixture))
    np.testing.assert_allclose(fit.responsibilities.T, log_responsibilities.exp(), atol=1e-12)
    np.testing.assert_allclose(fit.log_likelihood, log_likelihood, rtol=1e-12, atol=1e-12)
    expected = maximisation(rows, log_responsibilities.exp(), pseudo_count=PSEUDO_COUNT)
    found = estimate(points, fit.responsibilities)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_responsibilities_are_those_of_scikit_learn():
    points, mixture = random_case(0)
    model = GaussianMixture(4, covariance_type="diag")
    model.weights_, model.means_ = np.exp(mixture.log_weight), mixture.mean
    model.covariances_ = np.exp(2 * mixture.log_scale)
    model.precisions_cholesky_ = np.exp(-mixture.log_scale)
    fit = explain(points, mixture)
    np.testing.assert_allclose(fit.responsibilities.T, model.predict_proba(points.T), atol=1e-12)
    np.testing.assert_allclose(fit.log_likelihood, model.score_samples(points.T))
    assert fit.total == pytest.approx(40 * model.score(points.T))


def test_log_density_is_scipys():
    points, mixture = random_case(1, columns=3)
    density = norm.logpdf(points.T[None], mixture.mean[:, None], np.exp(mixture.log_scale)[:, None])
    np.testing.assert_allclose(
        log_density(points, mixture.mean, mixture.log_scale), density.sum(-1), rtol=1e-12
    )


def test_moments_far_from_the_origin_are_exact():
    points = 1e6 + np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 2.0]])
    mixture = estimate(points, np.ones((1, 4)))
    np.testing.assert_allclose(mixture.mean, [[1e6 + 0.5, 1e6 + 1]])
    np.testing.assert_allclose(np.exp(2 * mixture.log_scale), [[0.25, 1.0]], rtol=1e-5)


def test_a_cluster_without_points_has_finite_parameters():
    points, _ = random_case(0)
    mixture = estimate(points, np.stack([np.ones(40), np.zeros(40)]))
    assert all(np.isfinite(part).all() for part in mixture)


def test_taking_components_leaves_their_parameters():
    _, mixture = random_case(0)
    some = mixture.take([2, 0])
    assert some.n_clusters == 2
    assert (some.mean == mixture.mean[[2, 0]]).all()


@given(seed=st.integers(0, 2**31), n_clusters=st.integers(1, 6), limit=st.integers(1, 60))
@settings(max_examples=30)
def test_settling_is_em_until_nothing_is_gained(seed, n_clusters, limit):
    points, mixture = random_case(seed, n_clusters=n_clusters)
    path = [improve(points, explain(points, mixture), 2)]
    for _ in range(limit):
        path.append(improve(points, path[-1], 1))
    mean = [fit.log_likelihood.mean() for fit in path]
    stop = next((n for n in range(1, limit) if mean[n] - mean[n - 1] < 1e-5), limit)
    best = path[stop] if mean[stop] > mean[stop - 1] else path[stop - 1]
    found = settle(points, path[0], limit=limit)
    np.testing.assert_allclose(found.mixture.mean, best.mixture.mean)


@given(**CASES)
@settings(max_examples=60)
def test_settling_never_ends_below_its_last_step(seed, n_points, n_clusters, columns):
    points, mixture = random_case(seed, n_points, n_clusters, columns)
    fit = improve(points, explain(points, mixture), 30)  # near the top, where steps may go down
    assert settle(points, fit).total >= fit.total - 1e-9


def in_three() -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(3).repeat(100)
    centre = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])[labels]
    return (centre + 0.25 * np.random.default_rng(0).normal(size=(300, 2))).T, labels


@pytest.mark.parametrize("seed", range(5))
def test_settling_makes_a_rough_partition_likelier(seed):
    points, labels = in_three()
    random = np.random.default_rng(seed)
    rough = np.where(random.uniform(size=300) < 0.2, random.integers(3, size=300), labels)
    members = (rough == np.arange(3)[:, None]).astype(np.float64)
    fit: Fit = explain(points, estimate(points, members))
    settled = settle(points, fit)
    assert settled.total > fit.total
    assert settled.total == pytest.approx(settle(points, fit, 0, limit=200).total, abs=0.1)


def test_input_is_left_alone():
    points, mixture = random_case(0)
    fit = explain(points, mixture)
    before = points.copy(), *(part.copy() for part in (*mixture, fit.responsibilities))
    settle(points, fit)
    after = points, *mixture, fit.responsibilities
    assert all((now == then).all() for now, then in zip(after, before, strict=True))
