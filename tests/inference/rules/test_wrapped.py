import numpy as np
import pytest
import torch

import coterie
from coterie.functional.em import Gaussians
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.wrapped import TemperedRule, tempered


@pytest.fixture
def mixture():
    mean = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    log_weight = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log()
    return MixtureRule(Gaussians(log_weight, mean, torch.zeros_like(mean)))


@pytest.fixture
def points():
    return torch.randn(200, 2, generator=torch.Generator().manual_seed(0))


def test_probabilities_are_powers_and_labels_stay(mixture, points):
    plain = mixture.log_probabilities(points).exp().numpy()
    found = TemperedRule(mixture, 2.5).log_probabilities(points).exp().numpy()
    power = plain ** (1 / 2.5)
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True), rtol=1e-12)
    assert (found.argmax(1) == plain.argmax(1)).all()
    assert (found.max(1) < plain.max(1)).all()


def test_at_one_a_rule_is_itself(mixture):
    assert tempered(mixture, 1.0) is mixture


def test_clusters_are_chosen_before_the_probabilities_are_flattened(mixture, points):
    chosen = TemperedRule(mixture, 2.0).select(torch.tensor([2, 0]))
    assert (chosen.n_clusters, chosen.device) == (2, mixture.device)
    plain = mixture.log_probabilities(points)[:, [2, 0]]
    torch.testing.assert_close(chosen.log_probabilities(points), (plain / 2).log_softmax(1))
    assert torch.equal(
        chosen.unwanted(points), mixture.select(torch.tensor([2, 0])).unwanted(points)
    )


def test_a_model_fits_and_predicts_at_its_temperature():
    points = np.random.default_rng(0).normal(size=(300, 2)) + 2.2 * (np.arange(300) % 3)[:, None]
    model = coterie.AMCP(n_clusters=3, ending="network", random_state=0).fit(points)
    np.testing.assert_allclose(model.predict_proba(points), model.probabilities_, atol=1e-12)
    assert isinstance(model.fitted_.rule, TemperedRule)
