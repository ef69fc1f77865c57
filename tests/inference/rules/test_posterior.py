from dataclasses import replace

import pytest
import torch
from small import MAF
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.inference.packing import pack, unpack
from coterie.inference.rules.generative import log_joint
from coterie.inference.rules.posterior import PosteriorRule
from coterie.systems.dac.minimum_loss import DAC


def points(n: int = 20) -> Tensor:
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def system():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DAC(MAF).double().eval().requires_grad_(False)


@pytest.fixture
def rule(system):
    sets = [SetBatch.single(shift + points().double()) for shift in (-2.0, 0.0, 2.0)]
    commits = [system.step(system.start(each)) for each in sets]
    log_weight = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log()
    return PosteriorRule.of(system, commits, log_weight)


def test_probabilities_are_those_of_bayes(rule):
    joint = log_joint(rule, points(), 2)
    torch.testing.assert_close(rule.log_probabilities(points()), joint.log_softmax(1))
    assert rule.n_clusters == 3
    torch.testing.assert_close(
        rule.log_probabilities(points()).exp().sum(1), torch.ones(20).double()
    )


def test_points_may_come_in_chunks(rule, monkeypatch):
    whole = rule.log_probabilities(points())
    monkeypatch.setattr("coterie.inference.rules.posterior.CHUNK", 7)
    torch.testing.assert_close(rule.log_probabilities(points()), whole, rtol=0, atol=1e-12)


def test_some_of_the_clusters(rule):
    some = rule.select(torch.tensor([2, 0]))
    expected = rule.log_probabilities(points())[:, [2, 0]].log_softmax(1)
    torch.testing.assert_close(some.log_probabilities(points()), expected)


def test_only_what_is_rarer_than_a_clusters_own_draws_is_noise(rule, system):
    assert not rule.unwanted(points()).any()
    strict = PosteriorRule.of(system, rule.commits, rule.log_weight, noise=True)
    drawn = strict.densities[0].sample(1000, torch.Generator().manual_seed(7))[0]
    assert strict.unwanted(drawn).float().mean() <= 0.002
    assert strict.unwanted(torch.full((1, 2), 1e4)).all()


def test_it_comes_back_from_a_file(rule):
    again = unpack(pack(rule))
    torch.testing.assert_close(
        again.log_probabilities(points()), rule.log_probabilities(points()), rtol=0, atol=0
    )


def test_a_system_without_a_density_is_refused(rule):
    bare = DAC(replace(MAF, density=None)).double()
    with pytest.raises(TypeError, match="clusters have densities"):
        replace(rule, system=bare).log_probabilities(points())
