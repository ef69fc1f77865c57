import pytest
import torch
from torch import Tensor, nn

from coterie.systems.act_st.config import ACTSTConfig
from coterie.systems.act_st.network import MixtureNetwork


@pytest.fixture(scope="module")
def network() -> MixtureNetwork:
    config = ACTSTConfig(width=16, heads=2, slots=4, encoder_blocks=2, decoder_blocks=2)
    network = MixtureNetwork(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.3, generator=generator)
    return network.double().requires_grad_(False)


def points_of(seed: int, n_sets: int, n_points: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(n_sets, n_points, 2, generator=generator, dtype=torch.float64)


def full(points: Tensor) -> Tensor:
    return torch.ones(points.shape[:2], dtype=torch.bool)


def step_alone(network: MixtureNetwork, points: Tensor, k: int) -> Tensor:
    """Equation 11 for one set and one k, without a mask: the head's output (k, 2 + 2 D)."""
    for block in network.encoder:
        points = block(points)
    clusters = network.pool(points, k)
    for block in network.decoder:
        clusters = block(clusters)
    return network.head(clusters)[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_all_steps_together_are_each_step_alone(network, k):
    points = points_of(0, 3, 11)
    decoded = network(points, full(points), 5)
    for number, one in enumerate(points):
        alone = step_alone(network, one[None], k)
        torch.testing.assert_close(decoded.going_on[number, k - 1], alone[:, 0].mean())
        log_weight, mean, log_scale = (part[number, k - 1] for part in decoded.mixtures)
        torch.testing.assert_close(log_weight[:k], alone[:, 1].log_softmax(0))
        assert (log_weight[k:] == -torch.inf).all()
        torch.testing.assert_close(mean[:k], alone[:, 2:4])
        torch.testing.assert_close(log_scale[:k], alone[:, 4:])


def test_each_set_gets_the_mixture_of_its_own_step(network):
    points = points_of(0, 3, 11)
    decoded = network(points, full(points), 4)
    chosen = decoded.at(torch.tensor([2, 4, 1]))
    for number, step in enumerate((1, 3, 0)):
        for part, all_steps in zip(chosen, decoded.mixtures, strict=True):
            assert torch.equal(part[number], all_steps[number, step])


def test_the_order_of_the_points_does_not_matter(network):
    points = points_of(0, 2, 9)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    one, other = network(points, full(points), 4), network(points[:, order], full(points), 4)
    torch.testing.assert_close(one.going_on, other.going_on)
    torch.testing.assert_close(one.mixtures.mean, other.mixtures.mean)


def test_padding_and_companions_do_not_matter(network):
    points = points_of(0, 3, 9)
    mask = torch.arange(9) < torch.tensor([[9], [6], [3]])
    together = network(torch.where(mask[..., None], points, 50.0), mask, 4)
    for number, size in enumerate((9, 6, 3)):
        alone = network(points[number : number + 1, :size], mask[number : number + 1, :size], 4)
        torch.testing.assert_close(together.going_on[number], alone.going_on[0])
        torch.testing.assert_close(together.mixtures.mean[number], alone.mixtures.mean[0])


def test_more_steps_leave_the_first_as_they_are(network):
    points = points_of(0, 2, 9)
    few, many = network(points, full(points), 2), network(points, full(points), 6)
    torch.testing.assert_close(few.going_on, many.going_on[:, :2])
    torch.testing.assert_close(few.mixtures.mean, many.mixtures.mean[:, :2, :2])


def test_a_density_cannot_explode(network):
    points = 1e6 * points_of(0, 2, 9)
    log_scale = network(points, full(points), 4).mixtures.log_scale
    assert log_scale.min() >= -6
    assert log_scale.max() <= 4
