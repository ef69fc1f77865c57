import math

import pytest
import torch
from scipy import stats

from coterie.data.priors.mog import MixtureOfGaussians, compose, of_cluster
from coterie.functional.em import expectation


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def draw():
    """2000 sets of up to 200 points and 4 clusters, and the mixtures behind them."""
    return MixtureOfGaussians(n_max=200).draw(2000, seeded())


def numbers_of_clusters(log_weight: torch.Tensor) -> torch.Tensor:
    return log_weight.isfinite().sum(1)


def test_sizes_are_uniform_from_three_tenths_to_all():
    sizes = compose(20_000, 20, 2, seeded()).mask.sum(1)
    counts = torch.bincount(sizes, minlength=21)
    assert (counts[:6] == 0).all()
    assert stats.chisquare(counts[6:]).pvalue > 0.001


def test_valid_points_come_first(draw):
    mask = draw.batch.mask
    assert not (mask[:, 1:] & ~mask[:, :-1]).any()


def test_numbers_of_clusters_are_one_plus_binomial():
    k = numbers_of_clusters(compose(20_000, 4, 5, seeded()).log_weight)
    counts = torch.bincount(k - 1, minlength=5)
    assert stats.chisquare(counts, 20_000 * stats.binom(4, 0.5).pmf(range(5))).pvalue > 0.001


def test_one_cluster_at_most_is_one_cluster():
    composition = compose(50, 10, 1, seeded())
    assert (composition.log_weight == 0).all()
    assert (composition.labels[composition.mask] == 0).all()


@pytest.mark.parametrize("concentration", [1, 5])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_weights_are_dirichlet(k, concentration):
    log_weight = compose(20_000, 4, 4, seeded(), concentration=concentration).log_weight
    weight = log_weight[numbers_of_clusters(log_weight) == k].exp()
    assert (weight[:, k:] == 0).all()
    share = stats.beta(concentration, (k - 1) * concentration)
    for j in range(k):
        assert stats.kstest(weight[:, j], share.cdf).pvalue > 0.001


def test_weights_sum_to_one(draw):
    torch.testing.assert_close(draw.mixture.log_weight.logsumexp(1), torch.zeros(2000))


def test_labels_follow_the_weights(draw):
    weight, mask, labels = draw.mixture.log_weight.exp(), draw.batch.mask, draw.batch.labels
    n = mask.sum(1, keepdim=True)
    counts = torch.stack([(labels == j).sum(1) for j in range(4)], 1)
    # With independent labels a count has the variance n w (1 - w); too even or too clumped fails.
    usual = (n * weight * (1 - weight) > 5).nonzero(as_tuple=True)
    z = ((counts - n * weight) / (n * weight * (1 - weight)).sqrt())[usual]
    assert z.mean() == pytest.approx(0.0, abs=0.05)
    assert z.square().mean() == pytest.approx(1.0, abs=0.07)


def test_labels_are_independent_of_the_place_in_the_set(draw):
    labels = draw.batch.labels
    both = (labels[:, 1:] >= 0).sum()
    same = (labels[:, 1:] == labels[:, :-1])[labels[:, 1:] >= 0].sum() / both
    n = draw.batch.mask.sum(1)
    expected = (draw.mixture.log_weight.exp().square().sum(1) * (n - 1)).sum() / both
    assert same == pytest.approx(float(expected), abs=0.01)


def test_labels_name_clusters_that_exist(draw):
    labels, mask = draw.batch.labels, draw.batch.mask
    assert (labels < numbers_of_clusters(draw.mixture.log_weight)[:, None]).all()
    assert torch.equal(labels == -1, ~mask)
    assert (draw.batch.points[~mask] == 0).all()


def test_means_have_covariance_nine(draw):
    means = draw.mixture.mean.flatten(0, 1)
    assert means.mean(0).tolist() == pytest.approx([0, 0], abs=0.15)
    covariance = means.T.cov().flatten().tolist()
    assert covariance == pytest.approx([9, 0, 0, 9], abs=0.5)
    assert stats.kstest(means[:, 0] / 3, "norm").pvalue > 0.001


def test_scales_are_log_normal(draw):
    log_scale = draw.mixture.log_scale.flatten(0, 1)
    assert log_scale.mean(0).tolist() == pytest.approx([math.log(0.25)] * 2, abs=0.005)
    assert log_scale.std(0).tolist() == pytest.approx([0.1] * 2, abs=0.004)
    assert log_scale.T.corrcoef()[0, 1] == pytest.approx(0.0, abs=0.05)


def test_points_are_normal_around_their_means(draw):
    labels, mask = draw.batch.labels, draw.batch.mask
    mean, scale = (of_cluster(x, labels) for x in (draw.mixture.mean, draw.mixture.log_scale.exp()))
    residual = ((draw.batch.points - mean) / scale)[mask]
    for column in residual.T:
        assert stats.kstest(column, "norm").statistic < 0.005
    assert residual.T.corrcoef()[0, 1] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(("n_max", "k_max", "paper"), [(1000, 4, -0.693), (3000, 12, -1.527)])
def test_oracle_log_likelihood_is_that_of_the_paper(n_max, k_max, paper):
    # DAC, Table 1. It does not depend on n, and a concentration other than 1 misses it.
    batch, mixture = MixtureOfGaussians(n_max // 5, k_max).draw(2500, seeded())
    _, log_likelihood = expectation(batch.points, mixture)
    per_set = torch.where(batch.mask, log_likelihood, 0.0).sum(1) / batch.mask.sum(1)
    assert per_set.mean() == pytest.approx(paper, abs=0.03)


def test_of_cluster_looks_up_each_point():
    values = torch.arange(12.0).view(2, 3, 2)
    labels = torch.tensor([[2, 0, 1, 2], [1, 1, 0, -1]])
    found = of_cluster(values, labels)
    for b in range(2):
        for i in range(4):
            assert torch.equal(found[b, i], values[b, max(0, int(labels[b, i]))])


def test_columns_are_as_asked():
    assert MixtureOfGaussians(n_max=10, columns=5).sample(3, seeded()).points.shape == (3, 10, 5)


def test_the_generator_alone_decides():
    prior = MixtureOfGaussians(n_max=30)
    global_state = torch.random.get_rng_state()
    batch, again, other = (prior.sample(20, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), global_state)
    assert torch.equal(batch.points, again.points)
    assert torch.equal(batch.labels, again.labels)
    assert not torch.equal(batch.points, other.points)
