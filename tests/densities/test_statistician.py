import itertools
import math

import pytest
import torch
from torch.distributions import Bernoulli, Normal

from coterie.densities.protocol import NoMarginal
from coterie.densities.statistician import N_DRAWS, Sizes, Statistician

COLUMNS, LATENT, CLUSTER = 4, 2, 5


def head_of(seed: int) -> Statistician:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes = Sizes(width=8, context=3, latent=LATENT, flow_blocks=2, flow_width=6)
        return Statistician(CLUSTER, COLUMNS, sizes).double().requires_grad_(False)


def clusters(seed: int, n_sets: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_sets, CLUSTER, generator=generator, dtype=torch.float64)


def every_item() -> torch.Tensor:
    """All binary items of COLUMNS pixels: (1, 16, D)."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=COLUMNS))).double()[None]


def exact_log_prob(head: Statistician, context: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    """log of the integral of p(x | z) p(z) over a grid of z: (n,)."""
    axis = torch.linspace(-12, 12, 201, dtype=torch.float64)
    places = torch.cartesian_prod(axis, axis)[None]
    log_prior = head.prior.log_prob(places, context)[0]
    logits = head.decode(context, places)[0]  # (grid, D)
    log_likelihood = Bernoulli(logits=logits[:, None]).log_prob(items[0]).sum(-1)  # (grid, n)
    area = 2 * math.log(float(axis[1] - axis[0]))
    return (log_prior[:, None] + log_likelihood).logsumexp(0) + area


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_lies_below_a_likelihood_that_sums_to_one(seed):
    head, items = head_of(seed), every_item()
    density = head.density(clusters(seed, 1))
    exact = exact_log_prob(head, density.context, items)
    assert float(exact.exp().sum()) == pytest.approx(1, abs=1e-3)
    # The mean over z lies below; weighted by importance the same terms are the likelihood.
    axis = torch.linspace(-12, 12, 121, dtype=torch.float64)
    noise = torch.cartesian_prod(axis, axis)[:, None].expand(-1, len(items[0]), -1)
    many = (density.context.expand(len(noise), -1), items.expand(len(noise), -1, -1), noise)
    bounds = head.bound(*many)
    mass = Normal(0, 1).log_prob(noise).sum(-1) + 2 * math.log(float(axis[1] - axis[0]))
    assert ((mass.exp() * bounds).sum(0) < exact).all()
    torch.testing.assert_close((mass + bounds).logsumexp(0), exact, rtol=0, atol=2e-3)


def test_the_bound_is_equation_18():
    head, items = head_of(0), every_item()
    context, noise = head.context(clusters(3, 1)), torch.full((1, 16, LATENT), 0.3).double()
    moments = head.posterior(head.encode(items)) + head.posterior_context(context)[:, None]
    mean, log_scale = moments.chunk(2, -1)
    q = Normal(mean, log_scale.exp())
    z = mean + log_scale.exp() * noise
    expected = Bernoulli(logits=head.decode(context, z)).log_prob(items).sum(-1)
    expected = expected + head.prior.log_prob(z, context) - q.log_prob(z).sum(-1)
    torch.testing.assert_close(head.bound(context, items, noise), expected)


def test_items_are_encoded_once_for_all_draws_of_z(monkeypatch):
    density, encoded, encode = head_of(0).density(clusters(0, 1)), [], Statistician.encode
    monkeypatch.setattr(
        Statistician,
        "encode",
        lambda head, items: encoded.append(len(items)) or encode(head, items),
    )
    density.log_prob(every_item())
    assert encoded == [1]


def test_training_reads_the_bound_for_a_pixel_with_noise_of_the_generator():
    head, items, cluster = head_of(0), every_item(), clusters(0, 1)
    noise = torch.randn(1, 16, LATENT, generator=torch.Generator().manual_seed(4))
    expected = head.bound(head.context(cluster), items, noise.double()) / COLUMNS
    found = head.log_prob(cluster, items, torch.Generator().manual_seed(4))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("seed", range(3))
def test_several_draws_are_weighted_by_importance(seed):
    """Nearer to the likelihood than the mean over the same draws, which lies below."""
    head, items = head_of(seed), every_item()
    density = head.density(clusters(seed, 1))
    generator = torch.Generator().manual_seed(0)
    noise = torch.cat([torch.randn(1, 1, LATENT, generator=generator) for _ in range(N_DRAWS)])
    noise = noise.double().expand(-1, 16, -1)
    draws = head.bound(density.context.expand(N_DRAWS, -1), items.expand(N_DRAWS, -1, -1), noise)
    found = density.log_prob(items)[0]
    torch.testing.assert_close(found, draws.exp().mean(0).log())
    assert (found > draws.mean(0)).all()
    exact = exact_log_prob(head, density.context, items)
    assert (found - exact).abs().mean() < (draws.mean(0) - exact).abs().mean()


def test_an_item_has_the_same_bound_whoever_stands_beside_it():
    head, items = head_of(0), every_item()
    density = head.density(clusters(0, 1))
    alone = torch.cat([density.log_prob(each) for each in items.split(1, 1)], 1)
    torch.testing.assert_close(density.log_prob(items), alone)


def test_samples_are_items_as_frequent_as_the_likelihood_says():
    head, items = head_of(1), every_item()
    density = head.density(clusters(1, 1))
    drawn = density.sample(40_000, torch.Generator().manual_seed(0))[0]
    assert drawn.unique().tolist() == [0, 1]
    number = (drawn @ torch.tensor([8.0, 4, 2, 1]).double()).long()
    share = torch.bincount(number, minlength=16).double() / len(drawn)
    expected = exact_log_prob(head, density.context, items).exp()
    torch.testing.assert_close(share, expected, rtol=0, atol=0.01)


def test_some_of_the_sets_and_items_of_another_size():
    head = head_of(0)
    density = head.density(clusters(0, 3))
    items = every_item().expand(3, -1, -1)
    some = density.of_sets(slice(1, 2)).log_prob(items[1:2])
    torch.testing.assert_close(some, density.log_prob(items)[1:2])
    with pytest.raises(NoMarginal, match="items have 4 pixels, these have 3"):
        density.log_prob(items[..., :3])
