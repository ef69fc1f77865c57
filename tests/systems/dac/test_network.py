import pytest
import torch

from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.network import FilteringNetwork


@pytest.fixture(scope="module")
def network(exact_dac) -> FilteringNetwork:
    return exact_dac.network


def points_of(seed: int, n_sets: int, n_points: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(n_sets, n_points, 2, generator=generator, dtype=torch.float64)


def test_the_middle_block_has_a_single_slot():
    config = DACConfig(width=16, heads=2, slots=4, encoder_blocks=3, decoder_blocks=1)
    network = FilteringNetwork(config)
    points = torch.randn(2, 9, 2, generator=torch.Generator().manual_seed(0))
    logits, memory = network.filter(points, torch.ones(2, 9, dtype=torch.bool))
    assert logits.shape == (2, 9)
    assert [tuple(slots.shape[:2]) for slots in memory] == [(2, 4)] * 3 + [(2, 1)] + [(2, 4)]


def test_points_read_from_the_slots_what_they_got_from_the_step(network):
    points, mask = points_of(0, 3, 12), torch.arange(12) % 4 != torch.arange(1, 4)[:, None]
    logits, memory = network.filter(points, mask)
    read = network.read(points, memory)
    assert read.shape == (3, 12, 1)
    torch.testing.assert_close(read[..., 0][mask], logits[mask], rtol=1e-12, atol=1e-12)


def test_a_point_is_read_whoever_is_read_beside_it(network):
    points, others = points_of(0, 2, 12), points_of(1, 2, 7)
    _, memory = network.filter(points, torch.ones(2, 12, dtype=torch.bool))
    together = network.read(others, memory)
    one_by_one = torch.cat([network.read(other, memory) for other in others.split(1, 1)], 1)
    torch.testing.assert_close(together, one_by_one, rtol=1e-12, atol=1e-12)


def test_the_density_is_what_the_head_makes_of_the_single_slot(network):
    _, memory = network.filter(points_of(0, 3, 12), torch.ones(3, 12, dtype=torch.bool))
    density = network.density(memory)
    single = memory[network.config.encoder_blocks][:, 0]
    for b in range(3):
        told = network.density_head(single[b])
        torch.testing.assert_close(density.mean[b], told[:2])
        torch.testing.assert_close(density.log_scale[b], told[2:])


def test_a_density_cannot_explode(network):
    slots = [torch.zeros(2, 4, 16).double(), torch.full((2, 1, 16), 1e4).double()]
    density = network.density(tuple(slots))
    assert density.log_scale.abs().max() > 3
    assert density.log_scale.min() >= -6
    assert density.log_scale.max() <= 4
