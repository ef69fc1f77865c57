import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import dblquad
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from coterie.mixtures import consolidate as consolidation
from coterie.mixtures.consolidate import consolidate
from coterie.mixtures.em import Fit, Mixture, estimate, explain
from coterie.mixtures.evidence import (
    SCALE_SPREAD,
    MixturePrior,
    adapted,
    information,
    judge,
    log_evidence,
    log_prior,
    most_probable,
    own_prior,
    trained_prior,
)

Points = NDArray[np.float64]

SCALE = 0.25


def around(means: list[list[float]], sizes: list[int], seed: int = 0) -> tuple[Points, Points]:
    """Points (D, N) of round clusters, and who belongs where (K, N)."""
    labels = np.arange(len(means)).repeat(sizes)
    noise = np.random.default_rng(seed).normal(size=(len(labels), len(means[0])))
    members = (labels == np.arange(len(means))[:, None]).astype(np.float64)
    return (np.array(means)[labels] + SCALE * noise).T, members


def random_case(
    seed: int, k: int, d: int, n_points: int = 50
) -> tuple[Points, Mixture, MixturePrior]:
    normal = np.random.default_rng(seed).normal
    weight = np.exp(normal(size=k))
    mixture = Mixture(np.log(weight / weight.sum()), normal(size=(k, d)), 0.3 * normal(size=(k, d)))
    prior = MixturePrior(normal(size=d), np.exp(normal(size=d)), 0.1 * normal(size=d), 0.4, 0.0)
    return normal(size=(d, n_points)), mixture, prior


def log_posterior(columns: Points, mixture: Mixture, prior: MixturePrior) -> float:
    """Likelihood and prior of the weights' log-odds, the means and the log scales, by scipy."""
    density = norm.logpdf(columns.T[:, None], mixture.mean, np.exp(mixture.log_scale)).sum(-1)
    likelihood = logsumexp(density + mixture.log_weight, axis=1).sum()
    weights = gammaln(mixture.n_clusters) + mixture.log_weight.sum()
    places = norm.logpdf(mixture.mean, prior.place, prior.place_spread).sum()
    scales = norm.logpdf(mixture.log_scale, prior.log_scale, prior.scale_spread).sum()
    return float(likelihood + weights + places + scales)


def moved(mixture: Mixture, step: Points) -> Mixture:
    """A mixture a step (P,) further, in the parameters of the information matrix."""
    k, d = mixture.mean.shape
    steps = np.insert(step, (1 + 2 * d) * int(mixture.log_weight.argmax()), 0).reshape(k, -1)
    odds = mixture.log_weight + steps[:, 0]
    return Mixture(
        odds - logsumexp(odds),
        mixture.mean + np.exp(mixture.log_scale) * steps[:, 1 : 1 + d],
        mixture.log_scale + steps[:, 1 + d :],
    )


@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 3), (2, 1), (3, 2), (4, 3)])
def test_information_is_minus_the_hessian(k, d):
    columns, mixture, prior = random_case(k, k, d)
    found = information(columns, explain(columns, mixture), prior)
    steps = 1e-3 * np.eye(k * (1 + 2 * d) - 1)
    expected = np.array(
        [
            [
                sum(
                    sign * log_posterior(columns, moved(mixture, one + turn * other), prior)
                    for sign, one, turn in (
                        (1, one, 1),
                        (-1, one, -1),
                        (-1, -one, 1),
                        (1, -one, -1),
                    )
                )
                for other in steps
            ]
            for one in steps
        ]
    )
    np.testing.assert_allclose(found, -expected / 4e-6, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_points", [5, 400])
def test_evidence_of_one_gaussian_is_the_integral(n_points):
    columns = np.random.default_rng(n_points).normal(0.3, 0.3, size=(1, n_points))
    trained = trained_prior(columns, SCALE)
    fit, prior, _ = judge(
        columns, Mixture(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1))), trained
    )
    peak = log_posterior(columns, fit.mixture, prior)

    def relative(log_scale: float, mean: float) -> float:
        at = Mixture(np.zeros(1), np.array([[mean]]), np.array([[log_scale]]))
        return math.exp(log_posterior(columns, at, prior) - peak)

    mean, log_scale = fit.mixture.mean.item(), fit.mixture.log_scale.item()
    width = 8 * math.exp(log_scale) / math.sqrt(n_points)
    integral, _ = dblquad(
        relative, mean - width, mean + width, log_scale - 1, log_scale + 1, epsrel=1e-4
    )
    assert log_evidence(columns, fit, prior) == pytest.approx(peak + math.log(integral), abs=0.02)


def test_the_prior_is_scipys():
    columns, mixture, prior = random_case(3, 3, 2)
    likelihood = explain(columns, mixture).total
    expected = log_posterior(columns, mixture, prior) - likelihood
    assert log_prior(mixture, prior) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_judging_ends_at_a_mode(seed):
    columns, members = around([[0.0, 0.0], [0.7, 0.3]], [120, 60], seed)
    trained = trained_prior(columns, SCALE)
    judged = judge(columns, estimate(columns, members), trained, limit=300, tolerance=1e-9)
    best = log_posterior(columns, judged.fit.mixture, judged.prior)
    random = np.random.default_rng(seed)
    for _ in range(40):
        elsewhere = moved(judged.fit.mixture, 0.01 * random.normal(size=9))
        assert log_posterior(columns, elsewhere, judged.prior) < best


@pytest.mark.parametrize("seed", range(5))
def test_a_step_makes_the_mixture_more_probable(seed):
    columns, mixture, prior = random_case(seed, 3, 2)
    for _ in range(5):
        better = most_probable(columns, explain(columns, mixture), prior)
        assert log_posterior(columns, better, prior) > log_posterior(columns, mixture, prior) - 1e-9
        mixture = better


def evidence_of(columns: Points, members: Points) -> float:
    return judge(columns, estimate(columns, members), trained_prior(columns, SCALE)).log_evidence


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("gap", [0.0, 1.5])
def test_evidence_prefers_the_number_of_clusters_that_there_are(gap, columns):
    right = 0
    for seed in range(10):
        first = [gap] + [0.0] * (columns - 1)
        points, two = around([[0.0] * columns, first], [80, 80], seed)
        if gap == 0:
            two = np.stack([points[0] < 0, points[0] >= 0]).astype(float)
        one = np.ones((1, points.shape[1]))
        right += (evidence_of(points, two) > evidence_of(points, one)) == (gap > 0)
    assert right >= 9


def test_the_order_of_points_and_components_does_not_matter():
    columns, members = around([[0.0, 0.0], [0.6, 0.0], [3.0, 1.0]], [50, 20, 30])
    order = np.random.default_rng(0).permutation(100)
    again = evidence_of(columns[:, order], members[[2, 0, 1]][:, order])
    assert again == pytest.approx(evidence_of(columns, members), abs=1e-6)


@pytest.mark.parametrize("shift", [-40.0, 1e3])
def test_the_place_of_the_data_does_not_matter(shift):
    columns, members = around([[0.0, 0.0], [0.6, 0.0]], [50, 40])
    assert evidence_of(columns + shift, members) == pytest.approx(
        evidence_of(columns, members), abs=1e-6
    )


def test_the_prior_is_that_of_training_unless_the_scales_differ():
    columns, _ = around([[0.0, 0.0]], [50])
    trained = trained_prior(columns, SCALE)
    like_training = math.log(SCALE) + 0.1 * np.random.default_rng(0).normal(size=(4, 2))
    near = adapted(trained, like_training)
    np.testing.assert_allclose(near.log_scale, trained.log_scale, atol=0.02)
    assert near.scale_spread == pytest.approx(SCALE_SPREAD, rel=0.2)
    wider = adapted(trained, np.tile(like_training, (3, 1)) + 0.2)
    np.testing.assert_allclose(wider.log_scale, math.log(SCALE) + 0.2, atol=0.05)
    same = adapted(trained, np.full((4, 2), math.log(SCALE)))
    np.testing.assert_allclose(np.hstack(same), np.hstack(trained))


@pytest.mark.parametrize("n_other", [1, 6])
def test_scales_of_another_kind_widen_the_prior_rather_than_move_it(n_other):
    columns, _ = around([[0.0, 0.0]], [50])
    trained = trained_prior(columns, SCALE)
    scales = np.full((6, 2), math.log(SCALE))
    scales[:n_other] += 1.0
    prior = adapted(trained, scales)
    np.testing.assert_allclose(prior.log_scale, trained.log_scale, atol=0.02)
    assert prior.scale_spread > 1.5 * SCALE_SPREAD


ODD = {
    "a constant column": np.stack([np.random.default_rng(0).normal(size=60), np.full(60, 2.0)]),
    "equal points": np.ones((2, 30)),
    "equal points far away": np.full((2, 30), 1e8),
    "one point": np.array([[1.0], [2.0]]),
    "fewer points than columns": np.random.default_rng(0).normal(size=(5, 3)),
    "two values": np.repeat([[0.0, 5.0], [1.0, 1.0]], 20, axis=1),
    "a point far away": np.append(np.random.default_rng(0).normal(size=(2, 40)), [[1e9], [0]], 1),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_odd_points_have_a_result(name, k):
    columns = ODD[name]
    labels = np.arange(columns.shape[1]) % k
    fit = consolidate(columns.T, labels, k, cluster_scale=SCALE)
    assert all(np.isfinite(part).all() for part in (*fit.mixture, fit.responsibilities))
    judged = judge(columns, fit.mixture, trained_prior(columns, SCALE))
    assert not math.isnan(judged.log_evidence)
    assert all(np.isfinite(part).all() for part in own_prior(columns, fit.mixture)[:4])


def test_what_is_no_number_is_no_reason():
    columns, members = around([[0.0, 0.0], [3.0, 0.0]], [20, 20])
    columns[0, 0] = np.nan
    fit = explain(columns, estimate(np.nan_to_num(columns), members))
    assert judge(columns, fit.mixture, trained_prior(columns, SCALE)).log_evidence == -math.inf


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 2), (3, 3), (3, 5), (2, 2)])
@pytest.mark.parametrize("gap", [0.55, 0.65, 0.75])
def test_the_range_is_obeyed_where_the_number_is_contested(low, high, gap):
    for seed in range(4):
        points, members = around([[0.0, 0.0], [gap, 0.0]], [80, 50], seed)
        settings = {"cluster_scale": SCALE, "at_least": low, "at_most": high}
        fit: Fit = consolidate(points.T, members.argmax(0), 2, **settings)
        assert low <= fit.mixture.n_clusters <= high


def test_evidence_is_only_asked_where_the_number_is_contested(monkeypatch):
    asked = []

    def counted(*args, **settings):
        asked.append(args)
        return judge(*args, **settings)

    monkeypatch.setattr(consolidation, "judge", counted)
    clear, members = around([[0.0, 0.0], [4.0, 0.0]], [80, 80])
    consolidate(clear.T, members.argmax(0), 2, cluster_scale=SCALE)
    assert not asked
    near, members = around([[0.0, 0.0], [0.6, 0.0]], [80, 80])
    consolidate(near.T, members.argmax(0), 2, cluster_scale=SCALE)
    assert asked


def test_evidence_is_not_asked_where_the_clusters_are_unlike_those_of_training(monkeypatch):
    monkeypatch.setattr(consolidation, "judge", None)
    near, members = around([[0.0, 0.0], [0.6, 0.0], [3.0, 3.0]], [80, 80, 80])
    consolidate(4 * near.T, members.argmax(0), 3, cluster_scale=SCALE)


def test_without_a_scale_evidence_is_never_asked(monkeypatch):
    monkeypatch.setattr(consolidation, "judge", None)
    near, members = around([[0.0, 0.0], [0.6, 0.0]], [80, 80])
    assert consolidate(near.T, members.argmax(0), 2).mixture.n_clusters in (1, 2)


@pytest.mark.parametrize("size", [8, 12])
def test_a_small_cluster_at_the_rim_of_a_large_one_is_found(size):
    found = 0
    for seed in range(10):
        points, _ = around([[0.0, 0.0], [1.1, 0.0]], [200, size], seed)
        labels = np.zeros(points.shape[1], dtype=int)
        found += consolidate(points.T, labels, 1, cluster_scale=SCALE).mixture.n_clusters == 2
    assert found >= 8
