import torch
from torch.nn.functional import normalize

from coterie.functional.loosening import loosened

LABELS = torch.tensor([[0, 0, 0, 1, 1, 2, 2, 2, -1]]).expand(64, -1)
MASK = torch.ones_like(LABELS, dtype=torch.bool)
POINTS = torch.randn(64, 9, 6, generator=torch.Generator().manual_seed(0))


def loose(most=2.0, seed=0):
    return loosened(POINTS, LABELS, MASK, 4, most, torch.Generator().manual_seed(seed))


def test_residuals_grow_by_one_factor_a_cluster():
    unit, found = normalize(POINTS, dim=-1), loose()
    factors = []
    for members in ([0, 1, 2], [3, 4], [5, 6, 7]):
        before = unit[:, members] - unit[:, members].mean(1, keepdim=True)
        after = found[:, members] - found[:, members].mean(1, keepdim=True)
        factor = after.norm(dim=-1) / before.norm(dim=-1)
        assert torch.allclose(factor, factor[:, :1].expand_as(factor), atol=1e-3)
        factors.append(factor[:, 0])
    every = torch.stack(factors)
    assert every.min() >= 0.75
    assert every.max() <= 2.5
    assert every.std() > 0.1


def test_some_clusters_are_pulled_towards_another_and_strays_stay():
    unit, found = normalize(POINTS, dim=-1), loose()
    moved = (found[:, 3:5].mean(1) - unit[:, 3:5].mean(1)).norm(dim=-1)
    assert 0.2 < (moved > 1e-5).float().mean() < 0.8
    assert torch.allclose(found[:, 8], unit[:, 8])


def test_the_generator_decides():
    assert torch.equal(loose(), loose())
    assert not torch.equal(loose(), loose(seed=1))
