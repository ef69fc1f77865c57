import pytest
import torch
from torch.nn.functional import normalize

from coterie.inference.rejoined import rejoined
from coterie.metrics import ari

TRUTH = torch.arange(300) % 3


@pytest.fixture
def vectors():
    """Three cones of 100 directions each, in six columns."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.eye(6)[TRUTH]
    return 3 * normalize(centres + 0.15 * torch.randn(300, 6, generator=generator), dim=-1)


@pytest.mark.parametrize(
    "start",
    [
        torch.zeros(300).long(),
        TRUTH,
        TRUTH + 3 * (torch.arange(300) % 2),
        (TRUTH == 0).long(),
        torch.full((300,), -1),
        torch.where(TRUTH == 2, -1, TRUTH),
    ],
)
def test_the_clusters_are_found_from_any_start(vectors, start):
    found = rejoined(vectors, start, 0.25)
    assert ari(TRUTH.numpy(), found.numpy()) == 1
    assert sorted(found.unique().tolist()) == [0, 1, 2]


def test_one_cluster_stays_one(vectors):
    alone = vectors[TRUTH == 1]
    assert (rejoined(alone, torch.arange(100) % 4, 0.25) == 0).all()


def test_bounds_on_their_number_are_kept(vectors):
    start = torch.zeros(300).long()
    assert int(rejoined(vectors, start, 0.25, at_least=5).max()) == 4
    assert int(rejoined(vectors, start, 0.25, at_most=2).max()) == 1


@pytest.mark.parametrize("n_clusters", [None, 3])
def test_leftovers_are_no_clusters_and_take_the_place_of_none(vectors, n_clusters):
    """A tenth as many directions as a cone has, on their own, and half of them on another."""
    generator = torch.Generator().manual_seed(2)
    odd = torch.eye(6)[3 + torch.arange(15) % 3 // 2]  # two groups: of ten and of five
    odd = 3 * normalize(odd + 0.1 * torch.randn(15, 6, generator=generator), dim=-1)
    every = torch.cat([vectors, odd])
    bounds = {} if n_clusters is None else {"at_least": n_clusters, "at_most": n_clusters}
    start = torch.zeros(315).long()
    found = rejoined(every, start, 0.25, least=20, **bounds)
    assert ari(TRUTH.numpy(), found[:300].numpy()) == 1
    assert int(found.max()) == 2
    assert int(rejoined(every, start, 0.25).max()) == 4
    assert int(rejoined(every, start, 0.25, least=20, at_least=5).max()) == 4


def test_the_order_of_the_vectors_does_not_matter(vectors):
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))
    found = rejoined(vectors, torch.zeros(300).long(), 0.25)
    turned = rejoined(vectors[order], torch.zeros(300).long(), 0.25)
    assert ari(found[order].numpy(), turned.numpy()) == 1


@pytest.mark.parametrize("n_points", [1, 2, 9])
def test_few_and_equal_vectors(n_points):
    same = torch.ones(n_points, 4)
    assert (rejoined(same, torch.zeros(n_points).long(), 0.25) == 0).all()
