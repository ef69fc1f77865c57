"""The five strategies: who is trained by what."""

import pytest
import torch
from torch import nn

from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference import STRATEGIES
from coterie.systems.chigac.inference.iterative import Refinement
from coterie.systems.chigac.inference.protocol import Inner, ascended, climb, slope, towards
from coterie.systems.chigac.posterior import Gaussian

EVERY = pytest.mark.parametrize("name", sorted(STRATEGIES))
MEMBERS = torch.tensor([True, False, True])


class Tiny(nn.Module):
    """A decoder and an encoder of two weights each, for 5 rows and z of two numbers."""

    def __init__(self):
        super().__init__()
        self.model = nn.Parameter(torch.tensor([[1.0, 0.5], [-1.0, 0.3], [0.2, 2.0]]).double())
        self.encoder = nn.Parameter(torch.tensor([0.5, -0.5]).double())

    def bound(self):
        zero = torch.zeros(5, 1, 2).double()
        asked = torch.ones(5, 1, 3, dtype=torch.bool)
        return Bound(
            lambda z: z @ self.model.T,
            Gaussian(zero, zero),
            MEMBERS.expand(5, 1, 3),
            asked,
            zero[..., 0],
        )

    def first(self):
        return Gaussian(self.encoder.expand(5, 1, 2), torch.full((5, 1, 2), -0.5).double())


def inner(name, steps=3, seed=0):
    torch.manual_seed(0)
    refine = Refinement(2, 8).double() if name == "iai" else None
    return Inner(steps, 0.2, torch.Generator().manual_seed(seed), refine)


@EVERY
def test_model_and_encoder_both_learn(name):
    tiny = Tiny()
    found = STRATEGIES[name](tiny.bound(), tiny.first(), inner(name))
    assert found.generative.shape == (5, 1)
    assert found.generative.isfinite().all()
    climbed = found.generative if found.recognition is None else sum(found)
    climbed.sum().backward()
    assert tiny.model.grad.abs().max() > 1e-6
    assert tiny.encoder.grad.abs().max() > 1e-6


@pytest.mark.parametrize("name", ["svi-ai", "iai", "eai"])
def test_the_bound_of_the_model_trains_no_encoder(name):
    tiny = Tiny()
    STRATEGIES[name](tiny.bound(), tiny.first(), inner(name)).generative.sum().backward()
    assert tiny.encoder.grad is None


@pytest.mark.parametrize("name", ["svi-ai", "iai", "eai"])
def test_the_encoder_s_objective_trains_no_model(name):
    tiny = Tiny()
    STRATEGIES[name](tiny.bound(), tiny.first(), inner(name)).recognition.sum().backward()
    assert tiny.model.grad is None


@pytest.mark.parametrize("name", ["svi-ai", "eai"])
def test_the_encoder_climbs_the_amortized_bound(name):
    """Its gradient is that of amortized inference with the same first draw."""
    gradients = []
    for each in ("ai", name):
        tiny = Tiny()
        found = STRATEGIES[each](tiny.bound(), tiny.first(), inner(each))
        climbed = found.generative if found.recognition is None else found.recognition
        climbed.sum().backward()
        gradients.append(tiny.encoder.grad)
    torch.testing.assert_close(*gradients)


def test_semi_amortized_gradients_are_those_of_the_whole_ascent():
    """Against finite differences: what the inner steps do counts too."""
    tiny = Tiny()

    def value():
        return STRATEGIES["semi-ai"](tiny.bound(), tiny.first(), inner("semi-ai")).generative.sum()

    value().backward()
    analytic, width = tiny.encoder.grad[0].item(), 1e-5
    ends = []
    for side in (width, -width):
        with torch.no_grad():
            tiny.encoder[0] += side
        ends.append(value().item())
        with torch.no_grad():
            tiny.encoder[0] -= side
    assert analytic == pytest.approx((ends[0] - ends[1]) / (2 * width), rel=1e-4)


def test_a_slope_is_the_gradient_of_the_bound():
    tiny = Tiny()
    noise = torch.randn(5, 1, 2, generator=torch.Generator().manual_seed(0)).double()
    mean = torch.zeros(5, 1, 2, dtype=torch.float64, requires_grad=True)
    there = Gaussian(mean, torch.zeros_like(mean))
    tiny.bound().elbo(there, noise).sum().backward()
    found = slope(tiny.bound(), there, noise)
    torch.testing.assert_close(found.gradient.mean, mean.grad)
    stand_in = towards(Gaussian(mean, there.log_scale), found.gradient)
    (again,) = torch.autograd.grad(stand_in.sum(), mean)
    torch.testing.assert_close(again, mean.grad)


def test_no_step_is_longer_than_a_deviation():
    there = Gaussian(torch.zeros(1, 1, 2), torch.full((1, 1, 2), -3.0))
    steep = Gaussian(torch.full((1, 1, 2), 1e9), torch.full((1, 1, 2), 1e9))
    far = ascended(there, steep, 0.1)
    torch.testing.assert_close(far.mean, there.log_scale.exp())
    torch.testing.assert_close(far.log_scale, there.log_scale + 0.5)


def test_a_trajectory_has_m_steps_beside_the_first():
    tiny = Tiny()
    path = climb(tiny.bound(), tiny.first(), inner("eai", steps=10))
    assert len(path.posteriors) == len(path.noises) == 11
    torch.testing.assert_close(path.posteriors[0].mean, tiny.first().mean.detach())
    assert not any(part.requires_grad for each in path.posteriors for part in each)


def test_iterative_inference_needs_its_network():
    tiny = Tiny()
    with pytest.raises(ValueError, match='needs weights trained with inference="iai"'):
        STRATEGIES["iai"](tiny.bound(), tiny.first(), inner("ai"))


def test_the_refinement_learns_to_climb():
    tiny, refine = Tiny(), Refinement(2, 8).double()
    tiny.model.requires_grad_(False)
    optimizer = torch.optim.Adam(refine.parameters(), 1e-2)

    def reached(seed):
        given = Inner(5, 0.2, torch.Generator().manual_seed(seed), refine)
        return STRATEGIES["iai"](tiny.bound(), tiny.first(), given)

    before = sum(reached(-1 - seed).generative.mean().item() for seed in range(40))
    for seed in range(60):
        optimizer.zero_grad()
        (-reached(seed).recognition.mean()).backward()
        optimizer.step()
    after = sum(reached(-1 - seed).generative.mean().item() for seed in range(40))
    assert after > before


@EVERY
def test_random_numbers_come_from_the_generator(name):
    values = []
    for seed in (1, 1, 2):
        tiny = Tiny()
        values.append(STRATEGIES[name](tiny.bound(), tiny.first(), inner(name, seed=seed))[0])
    assert torch.equal(values[0], values[1])
    assert not torch.equal(values[0], values[2])
