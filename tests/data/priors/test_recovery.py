import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from coterie.data.batch import SetBatch
from coterie.data.priors.draws import Draws
from coterie.data.priors.recovery import agreement, pick_recovered, recovered
from coterie.functional.canonical import onto_principal_axes
from coterie.functional.partitions import one_hot


def seeded(seed: int = 0) -> Draws:
    return Draws(torch.Generator().manual_seed(seed))


def two_clusters(apart: float, *, n: int = 300, long: float = 1.0, n_sets: int = 5) -> SetBatch:
    """Two Gaussians side by side, long across the way from one to the other, in their frame."""
    draws = seeded()
    labels = (torch.arange(n) % 2).expand(n_sets, -1)
    points = draws.normal(n_sets, n, 6)
    points[..., 0] += apart * labels
    points[..., 1] *= long
    mask = torch.ones_like(labels, dtype=torch.bool)
    return SetBatch(onto_principal_axes(points, mask), mask, labels)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_the_adjusted_rand_index(seed):
    draws = seeded(seed)
    first, second = draws.choice(4, 3, 60), draws.choice(6, 3, 60)
    second[0] = (first[0] + 1) % 4
    first[:, 50:] = second[:, 50:] = -1
    found = agreement(one_hot(first, 6).double(), one_hot(second, 6).double())
    expected = [adjusted_rand_score(a[:50], b[:50]) for a, b in zip(first, second, strict=True)]
    assert found.tolist() == pytest.approx(expected)


def test_single_clusters_agree():
    one = one_hot(torch.zeros(2, 9, dtype=torch.long), 3).double()
    assert agreement(one, one).tolist() == [1, 1]


def test_clusters_far_apart_are_recovered():
    assert (recovered(two_clusters(8.0), 4) == 1).all()


def test_clusters_that_are_none_are_lost():
    assert (recovered(two_clusters(0.0), 4) < 0.3).all()


def test_the_farther_apart_the_more_is_recovered():
    found = [recovered(two_clusters(apart), 4).mean() for apart in (0.5, 1.5, 2.5, 4.0)]
    assert found == sorted(found)


def test_long_clusters_are_made_round_first():
    # Plain k-means cuts these across; along the long axis they are ten times as wide as apart.
    assert (recovered(two_clusters(6.0, long=40.0), 4) > 0.9).all()


def test_labels_of_few_rows_are_not_found_in_as_many_axes():
    draws = seeded()
    labels = draws.choice(2, 50, 40)
    mask = torch.ones_like(labels, dtype=torch.bool)
    noise = SetBatch(onto_principal_axes(draws.normal(50, 40, 16), mask), mask, labels)
    assert recovered(noise, 2).mean() < 0.3


def test_padding_changes_nothing():
    batch = two_clusters(2.5)
    padded = SetBatch(
        torch.nn.functional.pad(batch.points, (0, 0, 0, 30), value=7.0),
        torch.nn.functional.pad(batch.mask, (0, 30)),
        torch.nn.functional.pad(batch.labels, (0, 30), value=-1),
    )
    assert recovered(padded, 4).tolist() == pytest.approx(recovered(batch, 4).tolist())


def test_a_set_of_one_cluster_is_recovered():
    batch = two_clusters(0.0)
    alone = SetBatch(batch.points, batch.mask, torch.zeros_like(batch.labels))
    assert (recovered(alone, 4) == 1).all()


def test_the_first_that_are_recovered_are_picked_and_lost_ones_last():
    found = torch.tensor([0.1, 0.9, 0.8, 0.2, 1.0])
    assert pick_recovered(found, 3, 0.5).tolist() == [1, 2, 4]
    assert pick_recovered(found, 5, 0.5).tolist() == [1, 2, 4, 0, 3]


def test_labels_are_needed():
    batch = two_clusters(1.0)
    with pytest.raises(ValueError, match="needs labels"):
        recovered(SetBatch(batch.points, batch.mask), 4)
