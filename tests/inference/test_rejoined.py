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


def test_the_order_of_the_vectors_does_not_matter(vectors):
    order = torch.randperm(300, generator=torch.Generator().manual_seed(1))
    found = rejoined(vectors, torch.zeros(300).long(), 0.25)
    turned = rejoined(vectors[order], torch.zeros(300).long(), 0.25)
    assert ari(found[order].numpy(), turned.numpy()) == 1


@pytest.mark.parametrize("n_points", [1, 2, 9])
def test_few_and_equal_vectors(n_points):
    same = torch.ones(n_points, 4)
    assert (rejoined(same, torch.zeros(n_points).long(), 0.25) == 0).all()
