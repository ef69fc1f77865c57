import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from coterie.densities.full_gaussian import FullGaussian
from coterie.densities.protocol import NoMarginal


@pytest.fixture
def two():
    """A Gaussian in each of two sets of three columns."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    turned = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    covariance = turned @ turned.mT + 0.1 * torch.eye(3, dtype=torch.float64)
    return FullGaussian(mean, torch.linalg.cholesky(covariance))


def covariance_of(density):
    return density.factor @ density.factor.mT


def test_log_prob_is_that_of_scipy(two):
    points = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for each, mean, covariance, found in zip(
        points, two.mean, covariance_of(two), two.log_prob(points), strict=True
    ):
        expected = multivariate_normal(mean.numpy(), covariance.numpy()).logpdf(each.numpy())
        np.testing.assert_allclose(found.numpy(), expected)


def test_samples_have_its_moments(two):
    drawn = two.sample(50_000, torch.Generator().manual_seed(2))
    assert drawn.shape == (2, 50_000, 3)
    torch.testing.assert_close(drawn.mean(1), two.mean, rtol=0, atol=0.05)
    for each, covariance in zip(drawn, covariance_of(two), strict=True):
        torch.testing.assert_close(each.T.cov(), covariance, rtol=0.05, atol=0.05)


def test_a_set_of_its_own(two):
    points = torch.zeros(2, 1, 3, dtype=torch.float64)
    torch.testing.assert_close(
        two.of_sets(slice(1, 2)).log_prob(points[1:]), two.log_prob(points)[1:]
    )


def test_fewer_columns_are_refused(two):
    with pytest.raises(NoMarginal, match="of 3 columns, the points have 2"):
        two.log_prob(torch.zeros(2, 1, 2))
