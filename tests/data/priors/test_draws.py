import pytest
import torch
from scipy import stats

from coterie.data.priors.draws import Draws, Plan, plan_sets


def draws(seed: int = 0) -> Draws:
    return Draws(torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def plan() -> Plan:
    """1500 sets of up to 1000 points in up to 32 clusters."""
    return plan_sets(1500, 1000, 32, draws())


def counts(plan: Plan) -> torch.Tensor:
    """Points of each cluster (B, K)."""
    return torch.stack([(plan.labels == j).sum(1) for j in range(plan.exists.shape[1])], 1)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("normal", (), stats.norm()),
        ("uniform", (-2, 5), stats.uniform(-2, 7)),
        ("log_uniform", (0.1, 30), stats.loguniform(0.1, 30)),
    ],
)
def test_numbers_follow_their_distribution(name, settings, expected):
    numbers = getattr(draws(), name)(*settings, 40, 250)
    assert numbers.shape == (40, 250)
    assert stats.kstest(numbers.flatten(), expected.cdf).pvalue > 0.001


def test_choices_are_equally_likely():
    chosen = draws().choice(7, 10_000)
    assert stats.chisquare(torch.bincount(chosen)).pvalue > 0.001
    assert len(torch.bincount(chosen)) == 7


def test_a_chance_has_its_probability():
    assert draws().chance(0.2, 20_000).float().mean() == pytest.approx(0.2, abs=0.01)


def test_labels_are_minus_one_for_padding_alone(plan):
    assert torch.equal(plan.labels == -1, ~plan.mask)
    assert (plan.labels < plan.n_clusters[:, None]).all()
    assert plan.shape == (1500, 1000, 32)


def test_valid_points_come_first(plan):
    assert not (plan.mask[:, 1:] & ~plan.mask[:, :-1]).any()


def test_clusters_exist_up_to_their_number(plan):
    assert plan.n_clusters.min() == 1
    assert plan.n_clusters.max() == 32
    assert torch.equal(plan.exists.sum(1), plan.n_clusters)
    assert not (plan.exists[:, 1:] & ~plan.exists[:, :-1]).any()


def test_single_clusters_are_frequent_and_most_sets_have_a_few(plan):
    k = plan.n_clusters
    assert 0.05 < (k == 1).float().mean() < 0.1
    assert ((k >= 2) & (k <= 6)).float().mean() > 0.5
    assert (k > 12).float().mean() > 0.1


def test_single_clusters_are_as_frequent_as_asked():
    alone = plan_sets(2000, 1000, 32, draws(), alone=0.5).n_clusters == 1
    assert alone.float().mean() == pytest.approx(0.5, abs=0.04)


def test_clusters_have_twelve_points_on_average(plan):
    several = plan.n_clusters > 1
    assert (plan.mask.sum(1) >= 12 * plan.n_clusters)[several].all()


def test_sizes_are_of_every_order(plan):
    n = plan.mask.sum(1)
    assert n.min() < 100
    assert n.max() > 990
    assert (n < 300).float().mean() > 0.15


def test_nearly_every_cluster_has_points(plan):
    # A share can be so small that no point falls to it: such a cluster is simply not there.
    empty = (counts(plan) == 0) & plan.exists
    assert empty.sum() / plan.exists.sum() < 0.01


def test_shares_go_from_equal_to_very_unequal(plan):
    found = counts(plan)
    pairs = found[(plan.n_clusters == 2) & (plan.mask.sum(1) > 300)][:, :2].float()
    ratio = pairs.amax(1) / pairs.amin(1)
    assert (ratio < 1.3).float().mean() > 0.25
    assert (ratio > 3).float().mean() > 0.1


@pytest.mark.parametrize(("n_max", "k_max"), [(4, 3), (40, 1), (60, 2)])
def test_small_sets_have_points(n_max, k_max):
    plan = plan_sets(300, n_max, k_max, draws())
    assert plan.mask.any(1).all()
    assert (plan.n_clusters <= k_max).all()


def test_the_generator_alone_decides():
    state = torch.random.get_rng_state()
    first, again, other = (plan_sets(20, 100, 8, draws(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first.labels, other.labels)
