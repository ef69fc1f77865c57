import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from zuko.flows import MAF

from coterie.densities.flow import Flow, FlowDensity, FlowHead
from coterie.densities.protocol import NoMarginal
from coterie.weights.hollow import hollow

CONTEXT, WIDTH, BLOCKS = 5, 8, 4


def flow_of(seed: int, columns: int = 2) -> Flow:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Flow(columns, CONTEXT, BLOCKS, WIDTH).double().requires_grad_(False)


def contexts(seed: int, n_sets: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_sets, CONTEXT, generator=generator, dtype=torch.float64)


def density(seed: int = 0, n_sets: int = 1, columns: int = 2) -> FlowDensity:
    return FlowDensity(flow_of(seed, columns), contexts(seed + 1, n_sets))


def grid(half: float = 20.0, n: int = 601) -> tuple[torch.Tensor, float]:
    axis = torch.linspace(-half, half, n, dtype=torch.float64)
    places = torch.cartesian_prod(axis, axis)
    return places[None], float(axis[1] - axis[0]) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_the_density_integrates_to_one(seed):
    places, area = grid()
    assert float(density(seed).log_prob(places).exp().sum()) * area == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("columns", [2, 3])
def test_log_prob_is_that_of_zuko_with_the_context_beside_every_point(columns):
    own = density(columns=columns, n_sets=3)
    theirs = MAF(columns, CONTEXT, BLOCKS, hidden_features=(WIDTH, WIDTH), activation=nn.ELU)
    theirs.double()
    weights = own.flow.state_dict()
    theirs.transform.transforms.load_state_dict(
        {name.removeprefix("blocks."): value for name, value in weights.items()}
    )
    points = torch.randn(3, 7, columns, generator=torch.Generator().manual_seed(5)).double()
    expected = theirs(own.context[:, None]).log_prob(points)
    torch.testing.assert_close(own.log_prob(points), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_samples_have_the_moments_of_the_density(seed):
    own = density(seed)
    places, area = grid()
    mass = own.log_prob(places)[0].exp() * area
    mean = (mass[:, None] * places[0]).sum(0)
    second = torch.einsum("n,nd,ne->de", mass, places[0], places[0])
    drawn = own.sample(100_000, torch.Generator().manual_seed(seed))[0]
    torch.testing.assert_close(drawn.mean(0), mean, rtol=0.02, atol=0.02)
    torch.testing.assert_close(drawn.T @ drawn / len(drawn), second, rtol=0.03, atol=0.03)
    entropy = -float((mass * (mass / area).clamp_min(1e-300).log()).sum())
    assert float(own.log_prob(drawn[None]).mean()) == pytest.approx(-entropy, abs=0.02)


def test_a_generator_determines_the_samples():
    own = density(n_sets=2)
    first, again = (own.sample(5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert first.shape == (2, 5, 2)
    assert torch.equal(first, again)


@pytest.mark.parametrize("columns", [2, 3, 9])
def test_a_block_is_inverted_as_zuko_inverts_it(columns):
    flow, context = flow_of(0, columns), contexts(1, 3)[:, None]
    points = torch.randn(3, 7, columns, generator=torch.Generator().manual_seed(5)).double()
    for block in flow.blocks:  # of both orders
        found = block.inverse(context, points)
        torch.testing.assert_close(found, block(context).inv(points), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(block(context)(found), points, rtol=1e-12, atol=1e-12)


def test_a_draw_costs_no_more_than_its_density():
    own, points = density(columns=30), torch.zeros(1, 100, 30, dtype=torch.float64)
    with FlopCounterMode(display=False) as of_density:
        own.log_prob(points)
    with FlopCounterMode(display=False) as of_draws:
        own.sample(100, torch.Generator().manual_seed(0))
    assert 0 < of_draws.get_total_flops() <= of_density.get_total_flops()


def test_each_set_has_its_own_context():
    together, points = density(n_sets=3), torch.randn(3, 4, 2, dtype=torch.float64)
    for b in range(3):
        alone = together.of_sets(slice(b, b + 1)).log_prob(points[b : b + 1])
        torch.testing.assert_close(together.log_prob(points)[b : b + 1], alone)


def test_other_columns_are_refused():
    with pytest.raises(NoMarginal, match="a flow over 3 columns has no marginal: points have 2"):
        density(columns=3).log_prob(torch.zeros(1, 4, 2))


def test_the_dtype_is_that_of_the_points():
    own = density()
    assert own.log_prob(torch.zeros(1, 3, 2)).dtype == torch.float32
    single = FlowDensity(own.flow.float(), own.context.float())
    assert single.log_prob(torch.zeros(1, 3, 2).double()).dtype == torch.float64


def test_no_flow_is_estimated_from_points():
    assert density().refitted(torch.zeros(3, 2)) is None


def test_gradients_reach_every_weight_of_the_head():
    head = FlowHead(width=6, columns=2, context=CONTEXT, blocks=2, hidden=WIDTH)
    points = torch.randn(3, 9, 2, generator=torch.Generator().manual_seed(0))
    head.log_prob(torch.randn(3, 6), points).sum().backward()
    assert all(value.grad.abs().sum() > 0 for value in head.parameters())


def test_a_hollow_flow_has_shapes_and_no_numbers():
    with hollow():
        flow = Flow(2, CONTEXT, BLOCKS, WIDTH)
    assert all(value.is_meta for value in flow.state_dict().values())
    assert {k: v.shape for k, v in flow.state_dict().items()} == {
        k: v.shape for k, v in flow_of(0).state_dict().items()
    }
