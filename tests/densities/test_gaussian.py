import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from torch.distributions import Independent, Normal

from coterie.densities.gaussian import LEAST_SCALE, DiagonalGaussian

SEEDS = st.integers(0, 2**31)


def gaussian(seed: int, n_sets: int, n_columns: int, dtype=torch.float64) -> DiagonalGaussian:
    generator = torch.Generator().manual_seed(seed)
    mean, log_scale = torch.randn(2, n_sets, n_columns, generator=generator, dtype=dtype)
    return DiagonalGaussian(3 * mean, log_scale)


def points_of(seed: int, *shape: int, dtype=torch.float64) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@given(seed=SEEDS, n_sets=st.integers(1, 3), n_columns=st.integers(1, 5))
def test_log_prob_is_that_of_independent_normals(seed, n_sets, n_columns):
    density, points = gaussian(seed, n_sets, n_columns), points_of(seed + 1, n_sets, 7, n_columns)
    normal = Independent(Normal(density.mean[:, None], density.log_scale.exp()[:, None]), 1)
    found = density.log_prob(points)
    assert found.shape == (n_sets, 7)
    torch.testing.assert_close(found, normal.log_prob(points), rtol=1e-12, atol=1e-12)


def test_each_set_has_its_own_gaussian():
    density, points = gaussian(0, 3, 2), points_of(1, 3, 5, 2)
    for b in range(3):
        covariance = np.diag(np.exp(2 * density.log_scale[b].numpy()))
        expected = multivariate_normal(density.mean[b].numpy(), covariance).logpdf(points[b])
        np.testing.assert_allclose(density.log_prob(points)[b], expected, rtol=1e-12)


@given(seed=SEEDS, n_columns=st.integers(1, 4))
def test_fewer_columns_are_judged_by_the_marginal(seed, n_columns):
    density, points = gaussian(seed, 2, 5), points_of(seed + 1, 2, 6, n_columns)
    mean, scale = density.mean.numpy(), density.log_scale.exp().numpy()
    for b in range(2):
        expected = norm.logpdf(points[b].numpy(), mean[b, :n_columns], scale[b, :n_columns])
        np.testing.assert_allclose(density.log_prob(points)[b], expected.sum(1), rtol=1e-12)


def test_the_dtype_is_that_of_the_points():
    density = gaussian(0, 1, 2, torch.float32)
    points = points_of(1, 1, 4, 2)
    exact = DiagonalGaussian(density.mean.double(), density.log_scale.double())
    assert density.log_prob(points).dtype == torch.float64
    torch.testing.assert_close(density.log_prob(points), exact.log_prob(points), rtol=0, atol=0)
    assert exact.log_prob(points.float()).dtype == torch.float32


def test_some_of_the_sets():
    density, points = gaussian(0, 4, 2), points_of(1, 4, 5, 2)
    some = density.of_sets(slice(1, 3))
    assert torch.equal(some.log_prob(points[1:3]), density.log_prob(points)[1:3])


@given(seed=SEEDS, n_points=st.integers(2, 30), n_columns=st.integers(1, 4))
def test_of_points_no_other_gaussian_is_more_likely(seed, n_points, n_columns):
    points = points_of(seed, n_points, n_columns)
    own = DiagonalGaussian.of_points(points)
    fits = [norm.fit(column) for column in points.T.numpy()]
    np.testing.assert_allclose(own.mean[0], [mean for mean, _ in fits])
    np.testing.assert_allclose(own.log_scale[0].exp(), [max(s, LEAST_SCALE) for _, s in fits])
    best = own.log_prob(points[None]).sum()
    generator = torch.Generator().manual_seed(seed)
    for _ in range(5):
        shift, stretch = 0.1 * torch.randn(2, n_columns, generator=generator, dtype=torch.float64)
        other = DiagonalGaussian(own.mean + shift, own.log_scale + stretch)
        assert other.log_prob(points[None]).sum() < best


@pytest.mark.parametrize("n_points", [1, 5])
def test_equal_points_have_the_least_scale(n_points):
    density = DiagonalGaussian.of_points(torch.full((n_points, 2), 7.0))
    assert density.mean.tolist() == [[7.0, 7.0]]
    torch.testing.assert_close(density.log_scale.exp(), torch.full((1, 2), LEAST_SCALE))


def test_gradients_reach_the_parameters():
    mean, log_scale = torch.zeros(1, 2).double(), torch.zeros(1, 2).double()
    points = points_of(0, 1, 4, 2)
    torch.autograd.gradcheck(
        lambda m, s: DiagonalGaussian(m, s).log_prob(points),
        (mean.requires_grad_(), log_scale.requires_grad_()),
    )
