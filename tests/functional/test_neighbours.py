import math

import pytest
import torch

from coterie.functional.neighbours import neighbour_loss


def by_hand(vectors, labels, mask, temperature):
    """The same, point by point."""
    losses = []
    for points, own, there in zip(vectors, labels, mask, strict=True):
        rows = [i for i in range(len(own)) if there[i]]
        unit = points / points.norm(dim=1, keepdim=True)
        for i in rows:
            weight = {j: math.exp(float(unit[i] @ unit[j]) / temperature) for j in rows if j != i}
            right = sum(value for j, value in weight.items() if own[j] == own[i])
            if right and own[i] >= 0:
                losses.append(-math.log(right / sum(weight.values())))
    return sum(losses) / len(losses)


@pytest.fixture
def sets():
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(3, 9, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(-1, 3, (3, 9), generator=generator)
    mask = torch.rand(3, 9, generator=generator) < 0.8
    return vectors, torch.where(mask, labels, -1), mask


def test_it_is_the_mean_over_the_points(sets):
    assert float(neighbour_loss(*sets, 0.3)) == pytest.approx(by_hand(*sets, 0.3))


def test_vectors_of_one_cluster_move_together(sets):
    vectors, labels, mask = sets
    centres = torch.eye(4, dtype=torch.float64)[labels.clamp_min(0)]
    assert neighbour_loss(centres, labels, mask) < neighbour_loss(vectors, labels, mask)


def test_points_without_a_companion_give_no_nan():
    vectors = torch.randn(1, 4, 3, requires_grad=True)
    labels, mask = torch.tensor([[0, 0, 1, -1]]), torch.tensor([[True, True, True, False]])
    neighbour_loss(vectors, labels, mask).backward()
    assert vectors.grad.isfinite().all()
    assert (vectors.grad[0, 3] == 0).all()
    nobody = neighbour_loss(vectors.detach(), labels, torch.zeros(1, 4, dtype=torch.bool))
    assert float(nobody) == 0
