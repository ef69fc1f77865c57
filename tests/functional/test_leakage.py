import math

import pytest
import torch
from torch.nn.functional import normalize

from coterie.functional.leakage import leakage, neighbour_weights
from coterie.functional.neighbours import neighbour_loss


def by_hand(unit, labels, temperature):
    """The same, point by point."""
    n_clusters = int(labels.max()) + 1
    weight = [[math.exp(float(a @ b) / temperature) for b in unit] for a in unit]
    found = torch.zeros(n_clusters, n_clusters, dtype=torch.float64)
    for a in range(n_clusters):
        for b in range(n_clusters):
            if a == b:
                continue
            members = [i for i in range(len(unit)) if labels[i] == a]
            others = [i for i in range(len(unit)) if labels[i] == b]
            frequency = 0.0
            for i in members:
                outside = sum(weight[i][j] for j in others)
                inside = sum(weight[i][j] for j in members if j != i)
                frequency += outside / (outside + inside) / len(members)
            found[a, b] = frequency * (len(members) + len(others)) / len(others)
    return found.maximum(found.T)


@pytest.fixture
def unit():
    generator = torch.Generator().manual_seed(0)
    return normalize(torch.randn(30, 4, generator=generator, dtype=torch.float64), dim=-1)


def test_it_is_the_frequency_of_neighbours_in_the_other_cluster(unit):
    labels = torch.arange(30) * 7 % 10 % 3
    torch.testing.assert_close(
        leakage(neighbour_weights(unit), labels, 3), by_hand(unit, labels, 0.1)
    )


def test_neighbours_are_those_of_the_loss(unit):
    """Of two clusters -log of the share that stays inside is the encoder's loss."""
    labels = torch.arange(30) % 2
    weights = neighbour_weights(unit)
    inside = (weights * (labels == labels[:, None])).sum(1) / weights.sum(1)
    everyone = torch.ones(1, 30, dtype=torch.bool)
    loss = neighbour_loss(unit[None], labels[None], everyone)
    torch.testing.assert_close(-inside.log().mean(), loss)


def test_parts_of_a_cluster_leak_and_clusters_apart_do_not():
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[1.0, 0, 0], [0, 1, 0]]).double().repeat_interleave(400, 0)
    noise = 0.1 * torch.randn(800, 3, generator=generator, dtype=torch.float64)
    labels = torch.arange(800) // 200  # two parts of each, of equal places
    found = leakage(neighbour_weights(normalize(centres + noise, dim=-1)), labels, 4)
    assert found[0, 1] > 0.9
    assert found[2, 3] > 0.9
    assert found[:2, 2:].max() < 0.02
    assert (found == found.T).all()
    assert (found.diagonal() == 0).all()
