"""The bounds against numerical integration: they lie where the theory says."""

import math

import pytest
import torch
from torch.nn.functional import logsigmoid

from coterie.data.batch import SetBatch
from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.inference import STRATEGIES
from coterie.systems.chigac.inference.protocol import Inner
from coterie.systems.chigac.lessons import lesson
from coterie.systems.chigac.posterior import Gaussian

DRAWS = 4000
SLOPES = torch.tensor([1.5, -2.0, 0.7, 3.0], dtype=torch.float64)
OFFSETS = torch.tensor([0.5, 0.2, -1.0, 0.3], dtype=torch.float64)
MEMBERS = torch.tensor([True, False, True, True])


def line(z):
    """A decoder of one number for four points: (B, A, M, 1) -> (B, A, M, 4)."""
    return z * SLOPES + OFFSETS


def model():
    """The same step many times: its bounds average over the random numbers."""
    zero = torch.zeros(DRAWS, 1, 1, dtype=torch.float64)
    return Bound(
        line,
        Gaussian(zero, zero),
        MEMBERS.expand(DRAWS, 1, 4),
        torch.ones(DRAWS, 1, 4, dtype=torch.bool),
        torch.full((DRAWS, 1), -0.4, dtype=torch.float64),
    )


def poor(scale=0.7):
    """What an encoder says that is rather wrong."""
    mean = torch.full((DRAWS, 1, 1), -0.6, dtype=torch.float64)
    return Gaussian(mean, torch.full_like(mean, math.log(scale)))


def integrated():
    """The true log-likelihood of the step, on a fine grid."""
    z = torch.linspace(-12, 12, 20_001, dtype=torch.float64)
    sign = 2.0 * MEMBERS.double() - 1
    fit = logsigmoid(sign * (z[:, None] * SLOPES + OFFSETS)).sum(1)
    joint = fit - 0.5 * z.square() - 0.5 * math.log(2 * math.pi)
    return float(joint.logsumexp(0) + math.log(float(z[1] - z[0]))) - 0.4


def bound_of(name, steps=10, rate=0.3, seed=0):
    inner = Inner(steps, rate, torch.Generator().manual_seed(seed))
    values = STRATEGIES[name](model(), poor(), inner).generative[:, 0]
    return float(values.mean()), float(values.std() / math.sqrt(DRAWS))


def test_the_ergodic_bound_lies_between_the_amortized_one_and_the_truth():
    truth = integrated()
    amortized, _ = bound_of("ai")
    ergodic, error = bound_of("eai")
    assert amortized < truth - 0.5  # a gap worth closing
    assert ergodic < truth + 3 * error
    assert truth - ergodic < 0.25 * (truth - amortized)


@pytest.mark.parametrize("name", ["ai", "svi-ai", "semi-ai", "eai"])
def test_every_strategy_stays_below_the_truth(name):
    value, error = bound_of(name)
    assert value < integrated() + 3 * error


@pytest.mark.parametrize("name", ["svi-ai", "semi-ai", "eai"])
def test_inner_steps_tighten_the_bound(name):
    values = [bound_of(name, steps)[0] for steps in (0, 3, 10)]
    assert values[0] + 0.1 < values[1] < values[2]


def test_without_inner_steps_all_are_amortized_inference():
    for name in ("svi-ai", "semi-ai"):
        assert bound_of(name, steps=0) == bound_of("ai")
    # The ergodic bound draws the divergence, too.
    assert bound_of("eai", steps=0)[0] == pytest.approx(bound_of("ai")[0], abs=0.1)


def test_every_weight_of_the_trajectory_is_unbiased():
    inner = Inner(4, 0.05, torch.Generator().manual_seed(1))
    weights = []

    class Watched(Bound):
        def log_weights(self, posterior, noise):
            weights.append(super().log_weights(posterior, noise))
            return weights[-1]

    plain = model()
    watched = Watched(plain.decode, plain.prior, plain.members, plain.asked, plain.pioneer)
    STRATEGIES["eai"](watched, poor(1.3), inner)  # wide, or weights have no variance
    likelihood = weights[0][:, 0].exp()  # (draws, M + 1)
    error = likelihood.std(0) / math.sqrt(DRAWS)
    assert ((likelihood.mean(0) - math.exp(integrated())).abs() < 4 * error).all()


def test_the_divergence_is_that_of_draws():
    noise = torch.randn(200_000, 2, generator=torch.Generator().manual_seed(0)).double()
    one = Gaussian(torch.tensor([0.3, -1.0]).double(), torch.tensor([-0.5, 0.2]).double())
    other = Gaussian(torch.tensor([0.0, 0.4]).double(), torch.tensor([0.1, 0.3]).double())
    z = one.at(noise)
    drawn = (one.log_prob(z) - other.log_prob(z)).mean()
    assert float(one.divergence(other)) == pytest.approx(float(drawn), abs=0.01)
    assert float(one.divergence(one)) == 0
    assert float(one.log_prob(z)[0]) == pytest.approx(
        float(torch.distributions.Normal(one.mean, one.log_scale.exp()).log_prob(z[0]).sum())
    )


def true_log_likelihood(system, points, members, n_grid=161):
    """log p(h) of the first step on a set (N, D): all pioneers, and z in the plane on a grid."""
    network = system.network
    batch = SetBatch.single(points)
    embedded, _ = network.embed(batch.points, batch.mask)
    nothing = embedded.points.new_zeros(1, 1, 0, 1, system.config.width)
    known = network.know(embedded.points, batch.mask[:, None], nothing, None)
    reading = network.reading(embedded.points, known)
    chances = network.pioneer_logits(embedded, known, torch.tensor([0]))[0, 0].log_softmax(0)
    terms = []
    for pioneer in members.nonzero()[:, 0].tolist():
        prior = network.prior(embedded.points[:, pioneer][:, None], known)
        mean, scale = prior.mean[0, 0], prior.log_scale[0, 0].exp()
        unit = torch.linspace(-6, 6, n_grid, dtype=torch.float64)
        z = mean + scale * torch.cartesian_prod(unit, unit)
        others = torch.arange(len(points)) != pioneer
        sign = 2.0 * members.double() - 1
        logits = network.decode(embedded.unit, reading, z[None, None])[0, 0]  # (M, N)
        fit = logsigmoid(sign * logits)[:, others].sum(1)
        cell = math.log(float(unit[1] - unit[0])) * 2 + float(scale.log().sum())
        joint = fit + prior.over(2).log_prob(z[None, None])[0, 0]
        terms.append(chances[pioneer] + joint.logsumexp(0) + cell)
    return float(torch.stack(terms).logsumexp(0))


def test_the_network_s_own_bounds_lie_below_its_likelihood(small):
    system = small(latent=2, cluster_slots=1)
    system.network.posterior_head.linear.bias.data[2:] = -2.0  # wider than the prior
    points = torch.tensor([[0.0, 0.1], [0.2, 0.0], [3.0, 1.0], [2.8, 1.2]]).double()
    labels = torch.tensor([[0, 0, 1, 1]])
    n_draws = 1500
    batch = SetBatch(points.expand(n_draws, -1, -1), torch.ones(n_draws, 4, dtype=torch.bool))
    embedded, _ = system.network.embed(batch.points, batch.mask)
    generator = torch.Generator().manual_seed(0)
    given = lesson(system.network, embedded, labels.expand(n_draws, -1), 2, generator)
    members = given.bound.members[0, 0]
    truth = true_log_likelihood(system, points, members)
    found = {}
    for name in ("ai", "eai"):
        values = STRATEGIES[name](given.bound, given.first, Inner(10, 0.1, generator)).generative
        found[name] = values[:, 0].mean(), values[:, 0].std() / math.sqrt(n_draws)
    assert found["ai"][0] + 0.1 < found["eai"][0]
    assert found["eai"][0] < truth + 3 * found["eai"][1]
