import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from coterie.functional.em import (
    Gaussians,
    expectation,
    expectation_by_columns,
    gaussian_log_density,
    joint_log_density,
    map_moments,
    maximisation,
)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_mixture(*batch: int, k: int = 3, columns: int = 2) -> Gaussians:
    return Gaussians(
        log_weight=draw(*batch, k, seed=1).log_softmax(-1),
        mean=2 * draw(*batch, k, columns, seed=2),
        log_scale=0.3 * draw(*batch, k, columns, seed=3),
    )


def in_sklearn(mixture: Gaussians) -> GaussianMixture:
    model = GaussianMixture(len(mixture.mean), covariance_type="diag")
    model.weights_ = mixture.log_weight.exp().numpy()
    model.means_ = mixture.mean.numpy()
    model.covariances_ = (2 * mixture.log_scale).exp().numpy()
    model.precisions_cholesky_ = (-mixture.log_scale).exp().numpy()
    return model


def test_density_is_the_product_of_the_columns():
    points, mixture = draw(5, 2), some_mixture()
    density = gaussian_log_density(points, mixture.mean, mixture.log_scale)
    for j in range(3):
        normal = torch.distributions.Normal(mixture.mean[j], mixture.log_scale[j].exp())
        torch.testing.assert_close(density[:, j], normal.log_prob(points).sum(-1))


def test_joint_density_adds_the_weights():
    points, mixture = draw(5, 2), some_mixture()
    density = gaussian_log_density(points, mixture.mean, mixture.log_scale)
    joint = joint_log_density(points, mixture)
    torch.testing.assert_close(joint - density, mixture.log_weight.expand(5, 3))


def test_expectation_agrees_with_sklearn():
    points, mixture = 2 * draw(50, 2), some_mixture()
    log_responsibilities, log_likelihood = expectation(points, mixture)
    model = in_sklearn(mixture)
    np.testing.assert_allclose(log_responsibilities.exp(), model.predict_proba(points.numpy()))
    np.testing.assert_allclose(log_likelihood, model.score_samples(points.numpy()))


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("columns", [1, 2, 8])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_expectation_by_columns_is_the_expectation(k, columns, offset):
    points, mixture = 2 * draw(50, columns) + offset, some_mixture(k=k, columns=columns)
    mixture = mixture._replace(mean=mixture.mean + offset)
    found, expected = expectation_by_columns(points, mixture), expectation(points, mixture)
    assert found[0].is_contiguous()
    torch.testing.assert_close(found[0].exp(), expected[0].exp(), rtol=0, atol=1e-12)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-12, atol=1e-12)


def test_expectation_by_columns_leaves_its_input_alone():
    points, mixture = draw(50, 2), some_mixture()
    expectation_by_columns(points, mixture)
    assert torch.equal(points, draw(50, 2))
    assert all(map(torch.equal, mixture, some_mixture()))


def test_maximisation_is_weighted_moments():
    points, responsibilities = draw(40, 2), draw(40, 3, seed=4).softmax(-1)
    found = maximisation(points, responsibilities, variance_floor=0.0)
    points, responsibilities = points.numpy(), responsibilities.numpy()
    np.testing.assert_allclose(found.log_weight.exp(), responsibilities.mean(0))
    for j in range(3):
        mean = np.average(points, axis=0, weights=responsibilities[:, j])
        variance = np.average((points - mean) ** 2, axis=0, weights=responsibilities[:, j])
        np.testing.assert_allclose(found.mean[j], mean)
        np.testing.assert_allclose((2 * found.log_scale[j]).exp(), variance)


def test_twenty_steps_agree_with_sklearn():
    points, mixture = 2 * draw(200, 2), some_mixture()
    model = GaussianMixture(
        3,
        covariance_type="diag",
        max_iter=20,
        tol=0.0,
        reg_covar=1e-6,
        weights_init=mixture.log_weight.exp().numpy(),
        means_init=mixture.mean.numpy(),
        precisions_init=(-2 * mixture.log_scale).exp().numpy(),
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(points.numpy())
    for _ in range(20):
        log_responsibilities, _ = expectation(points, mixture)
        mixture = maximisation(points, log_responsibilities.exp(), variance_floor=1e-6)
    np.testing.assert_allclose(mixture.log_weight.exp(), model.weights_)
    np.testing.assert_allclose(mixture.mean, model.means_, atol=1e-10)
    np.testing.assert_allclose((2 * mixture.log_scale).exp(), model.covariances_)


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_never_falls(seed):
    points = torch.cat([draw(30, 2, seed=seed), 4 + 0.5 * draw(20, 2, seed=seed + 100)])
    mixture = some_mixture()
    trace = []
    for _ in range(30):
        log_responsibilities, log_likelihood = expectation(points, mixture)
        trace.append(float(log_likelihood.sum()))
        mixture = maximisation(points, log_responsibilities.exp(), variance_floor=0.0)
    gains = np.diff(trace)
    assert gains.min() > -1e-9
    assert gains[0] > 1.0


def test_batches_are_their_members():
    points, mixture = draw(4, 20, 2), some_mixture(4)
    log_responsibilities, log_likelihood = expectation(points, mixture)
    found = maximisation(points, log_responsibilities.exp(), pseudo_count=1.0)
    for b in range(4):
        alone = expectation(points[b], Gaussians(*(part[b] for part in mixture)))
        torch.testing.assert_close(log_responsibilities[b], alone[0])
        torch.testing.assert_close(log_likelihood[b], alone[1])
        again = maximisation(points[b], alone[0].exp(), pseudo_count=1.0)
        for part, expected in zip(found, again, strict=True):
            torch.testing.assert_close(part[b], expected)


@pytest.mark.parametrize("pseudo_count", [0.0, 1.0])
def test_points_without_responsibility_change_nothing(pseudo_count):
    points, responsibilities = draw(20, 2), draw(20, 3, seed=4).softmax(-1)
    responsibilities[15:] = 0.0
    points[15:] = 1e3
    found = maximisation(points, responsibilities, pseudo_count=pseudo_count)
    alone = maximisation(points[:15], responsibilities[:15], pseudo_count=pseudo_count)
    for part, expected in zip(found, alone, strict=True):
        torch.testing.assert_close(part, expected)


def test_pseudo_points_have_the_pooled_variance():
    points = torch.cat([draw(10, 2), draw(1, 2, seed=5)])
    membership = torch.zeros(11, 2, dtype=torch.float64)
    membership[:10, 0] = membership[10, 1] = 1.0
    found = maximisation(points, membership, pseudo_count=1.0, variance_floor=0.0)
    scatter = (points[:10] - points[:10].mean(0)).square().sum(0)
    pooled = scatter / 11
    variance = torch.stack([(scatter + pooled) / (10 + 1), pooled / (1 + 1)])
    torch.testing.assert_close((2 * found.log_scale).exp(), variance)


def test_an_empty_cluster_stays_finite():
    membership = torch.zeros(10, 2)
    membership[:, 0] = 1.0
    found = maximisation(draw(10, 2).float(), membership, pseudo_count=1.0)
    assert all(part.isfinite().all() for part in found)
    assert found.log_weight[1] < -50


def test_gradients_are_exact():
    points, mixture = draw(6, 2).requires_grad_(), some_mixture()

    def one_step(points, *parts):
        log_responsibilities, log_likelihood = expectation(points, Gaussians(*parts))
        found = maximisation(points, log_responsibilities.exp(), pseudo_count=0.5)
        return log_likelihood, *found

    assert torch.autograd.gradcheck(one_step, (points, *(p.requires_grad_() for p in mixture)))


def test_map_moments_are_those_of_the_points_and_an_imaginary_one():
    points, weight, prior = draw(20, 2), draw(20, seed=4).sigmoid(), draw(2, seed=5)
    mean, scale = map_moments(points, weight, prior, prior_scale=0.25)
    everyone = np.concatenate([points.numpy(), prior.numpy()[None]])
    expected = np.average(everyone, axis=0, weights=[*weight.tolist(), 1.0])
    np.testing.assert_allclose(mean, expected)
    # The imaginary point lies at the new mean, give or take its own scale.
    squares = [*(points.numpy() - expected) ** 2, np.full(2, 0.25**2)]
    variance = np.average(squares, axis=0, weights=[*weight.tolist(), 1.0])
    np.testing.assert_allclose(scale, np.sqrt(variance))


def test_map_moments_broadcast_over_the_leading_axes():
    points, weight, prior = draw(4, 20, 2), draw(4, 3, 20, seed=4).sigmoid(), draw(4, 3, 2, seed=5)
    found = map_moments(points[:, None], weight, prior, prior_scale=0.25)
    for b in range(4):
        for a in range(3):
            alone = map_moments(points[b], weight[b, a], prior[b, a], prior_scale=0.25)
            for part, expected in zip(found, alone, strict=True):
                torch.testing.assert_close(part[b, a], expected)


def test_map_moments_of_nobody_are_the_imaginary_points():
    prior = draw(3, 2, seed=5)
    mean, scale = map_moments(draw(3, 20, 2), torch.zeros(3, 20), prior, prior_scale=0.25)
    torch.testing.assert_close(mean, prior)
    torch.testing.assert_close(scale, torch.full_like(scale, 0.25))
