import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture

from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.mixtures.gaussians import FullMixture


@pytest.fixture
def peer():
    """scikit-learn's mixture of three clusters in four columns, and the points."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((300, 4)) + 3 * np.eye(3, 4)[np.arange(300) % 3]
    return GaussianMixture(3, random_state=0).fit(points), points


@pytest.fixture
def rule(peer):
    model, _ = peer
    mixture = FullMixture(np.log(model.weights_), model.means_, model.covariances_)
    return FullMixtureRule.of(mixture, "cpu")


def test_probabilities_are_those_of_scikit_learn(peer, rule):
    model, points = peer
    found = rule.log_probabilities(torch.from_numpy(points))
    assert found.dtype == torch.float64
    assert found.exp().numpy() == pytest.approx(model.predict_proba(points), abs=1e-9)
    likelihood = rule.log_likelihood(torch.from_numpy(points)).numpy()
    assert likelihood == pytest.approx(model.score_samples(points))
    assert rule.n_clusters == 3


def test_it_reads_the_first_columns_in_any_precision(peer, rule):
    _, points = peer
    padded = torch.from_numpy(np.pad(points, [(0, 0), (0, 2)]).astype(np.float32))
    expected = rule.log_probabilities(torch.from_numpy(points))
    assert rule.log_probabilities(padded).numpy() == pytest.approx(expected.numpy(), abs=1e-4)


def test_chunks_change_nothing(peer, rule):
    points = torch.from_numpy(peer[1])
    whole = rule.log_probabilities(points)
    parts = torch.cat([rule.log_probabilities(part) for part in points.split(37)])
    assert whole.numpy() == pytest.approx(parts.numpy(), abs=1e-12)


def test_far_points_are_unwanted_and_own_points_are_not(peer, rule):
    points = torch.from_numpy(peer[1])
    assert rule.unwanted(points).float().mean() < 0.01
    assert rule.unwanted(points + 30).all()


def test_some_clusters_in_another_order(peer, rule):
    points = torch.from_numpy(peer[1])
    chosen = torch.tensor([2, 0])
    less = rule.select(chosen)
    assert less.n_clusters == 2
    assert less.log_weight.exp().sum() == pytest.approx(1)
    expected = rule.log_probabilities(points)[:, chosen].log_softmax(1)
    assert less.log_probabilities(points).numpy() == pytest.approx(expected.numpy(), abs=1e-9)
