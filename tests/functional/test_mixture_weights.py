import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from coterie.functional.mixture_weights import (
    estimate_weights,
    needed_components,
    removal_costs,
)


def log_densities(centres: list[float], sizes: list[int]) -> torch.Tensor:
    """Points at some places of the line under a Gaussian at each centre: (N, K)."""
    draw = np.random.default_rng(0)
    parts = [draw.normal(c, 1, size) for c, size in zip(centres, sizes, strict=True)]
    points = np.concatenate(parts)
    return torch.from_numpy(-0.5 * (points[:, None] - np.array(centres)) ** 2)


def uniform(k: int) -> torch.Tensor:
    return torch.zeros(k, dtype=torch.float64).log_softmax(0)


def test_weights_maximise_the_likelihood():
    log_density = log_densities([-1.0, 0.5, 2.0], [30, 60, 40])
    found = estimate_weights(log_density, uniform(3), steps=3000)

    def loss(logits):
        return -logsumexp(log_density.numpy() + log_softmax(logits), axis=1).sum()

    best = minimize(loss, np.zeros(3), tol=1e-10)
    np.testing.assert_allclose(found.numpy(), log_softmax(best.x), atol=1e-3)
    assert found.exp().sum() == pytest.approx(1)


def test_costs_are_what_the_likelihood_loses():
    log_density = log_densities([-2.0, 0.0, 3.0], [30, 20, 40])
    log_weight = estimate_weights(log_density, uniform(3), steps=3000)
    joint = log_density + log_weight
    costs = removal_costs(joint)
    for component in range(3):
        kept = [other for other in range(3) if other != component]
        rest = log_density[:, kept] + log_weight[kept].log_softmax(0)
        expected = joint.logsumexp(1).sum() - rest.logsumexp(1).sum()
        assert float(costs[component]) == pytest.approx(float(expected), rel=1e-6)


def test_a_component_that_repeats_another_is_dropped_and_those_apart_stay():
    log_density = log_densities([-8.0, 0.0, 8.0], [30, 30, 30])
    twice = torch.cat([log_density, log_density[:, :1] - 1e-3], 1)
    components, log_weight = needed_components(twice, cost=5.0)
    assert components.tolist() == [0, 1, 2]
    torch.testing.assert_close(log_weight.exp(), torch.full((3,), 1 / 3).double())


@pytest.mark.parametrize(("bounds", "k"), [({"at_least": 4}, 4), ({"at_most": 2}, 2), ({}, 3)])
def test_the_number_has_bounds(bounds, k):
    log_density = log_densities([-8.0, 0.0, 8.0], [30, 30, 30])
    twice = torch.cat([log_density, log_density[:, :1] - 1e-3], 1)
    assert len(needed_components(twice, 5.0, **bounds).components) == k


def test_one_component_always_stays():
    log_density = log_densities([0.0], [5])
    assert needed_components(log_density, 1e9).components.tolist() == [0]
