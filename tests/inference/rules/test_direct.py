import pytest
import torch
from torch import Tensor

from coterie.inference.rules.direct import DirectRule
from coterie.systems.protocol import Memberships


class Slopes:
    """A direct system whose clusters are directions, which it remembers."""

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        directions, present = memory
        logits = points @ directions.transpose(1, 2)  # (B, M, K)
        return torch.where(present[:, None], logits, -torch.inf).log_softmax(-1)

    def cluster(self, points: Tensor, present: list[bool]) -> Memberships:
        directions = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]])
        memory = (directions, torch.tensor([present]))
        return Memberships(self.read(points[None], memory), memory)


@pytest.fixture
def points() -> Tensor:
    return torch.randn(50, 2, generator=torch.Generator().manual_seed(0))


def rule_of(points: Tensor, *present: bool) -> DirectRule:
    system = Slopes()
    return DirectRule.of(system, system.cluster(points, list(present)))


def expected(points: Tensor, *clusters: int) -> Tensor:
    x, y = points.double().unbind(1)
    return torch.stack([(x, y, -x, -y)[cluster] for cluster in clusters], 1).log_softmax(1)


def test_points_get_what_the_system_reads(points):
    rule = rule_of(points, True, True, True, True)
    found = rule.log_probabilities(points)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, expected(points, 0, 1, 2, 3), rtol=0, atol=1e-6)
    torch.testing.assert_close(found.exp().sum(1), torch.ones(50).double(), rtol=0, atol=1e-12)


def test_clusters_that_the_set_does_not_have_are_left_out(points):
    rule = rule_of(points, True, False, True, True)
    assert rule.n_clusters == 3
    found = rule.log_probabilities(points)
    assert found.isfinite().all()
    torch.testing.assert_close(found, expected(points, 0, 2, 3), rtol=0, atol=1e-6)


def test_clusters_are_chosen_and_put_into_another_order(points):
    rule = rule_of(points, True, False, True, True).select(torch.tensor([2, 0]))
    assert rule.n_clusters == 2
    torch.testing.assert_close(
        rule.log_probabilities(points), expected(points, 3, 0), rtol=0, atol=1e-6
    )
    single = rule.select(torch.tensor([1]))
    assert not single.log_probabilities(points).any()


def test_some_cluster_wants_every_point(points):
    rule = rule_of(points, True, True, False, False)
    unwanted = rule.unwanted(1e6 * points)
    assert unwanted.dtype == torch.bool
    assert not unwanted.any()
    assert rule.device == torch.device("cpu")
