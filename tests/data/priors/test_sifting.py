import pytest
import torch

from coterie.data.priors.draws import Plan
from coterie.data.priors.sifting import FEWEST, sift


def plan_of(*sizes: int, n_max: int = 40, k_max: int = 4) -> Plan:
    """Sets of these sizes; sifting asks a plan for nothing else."""
    mask = torch.arange(n_max) < torch.tensor(sizes)[:, None]
    exists = torch.ones(len(sizes), k_max, dtype=torch.bool)
    return Plan(torch.where(mask, 0, -1), mask, exists.sum(1), exists)


def candidates(n: int = 120) -> tuple[torch.Tensor, torch.Tensor]:
    """Places that tell the number of the candidate, and labels that take turns."""
    number = torch.arange(n)
    return torch.stack([number, -number], -1)[None].float(), (number % 3)[None]


def test_the_first_kept_candidates_are_taken_with_their_labels():
    where, label = candidates()
    kept = (torch.arange(120) % 2 == 0)[None]
    points, labels = sift(where, label, kept, plan_of(30), 5)
    expected = torch.arange(0, 60, 2)
    assert points.shape == (1, 40, 5)
    assert torch.equal(points[0, :30, 0], expected.float())
    assert torch.equal(labels[0, :30], expected % 3)
    assert (labels[0, 30:] == -1).all()


def test_where_too_few_are_kept_the_set_is_smaller():
    where, label = candidates()
    _, labels = sift(where, label, (torch.arange(120) < 24)[None], plan_of(40), 2)
    assert (labels >= 0).sum() == 24
    assert (labels[0, :24] >= 0).all()


def test_a_cluster_that_would_show_too_few_points_is_left_out():
    where, label = candidates()
    rare = (label == 2) & (torch.arange(120) > 3 * (FEWEST - 1))
    _, labels = sift(where, label, ~rare, plan_of(40, n_max=120), 2)
    assert set(labels.unique().tolist()) == {-1, 0, 1}


@pytest.mark.parametrize("size", [1, 3])
def test_a_tiny_set_keeps_its_largest_cluster(size):
    where, label = candidates()
    _, labels = sift(where, label, (label == 1) | (where[..., 0] < 9), plan_of(size), 2)
    assert (labels >= 0).sum() == size
    assert set(labels.unique().tolist()) == {-1, 1}
