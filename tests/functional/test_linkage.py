import math

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from coterie.functional.diffusion import LEAPS, n_scales, nearness, survey, walk_from
from coterie.functional.linkage import gaps_to, usual_height
from coterie.kernels.visit import visit


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(n_sets: int, n_points: int, columns: int = 2, seed: int = 0) -> Tensor:
    return torch.randn(n_sets, n_points, columns, generator=seeded(seed), dtype=torch.float64)


def by_scipy(points: Tensor) -> np.ndarray:
    """The gap between any two points (N, D), as a dendrogram of single linkage has it."""
    return squareform(cophenet(linkage(points.numpy(), "single")))


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_gaps_are_those_of_single_linkage(columns):
    points = drawn(3, 40, columns)
    mask = torch.ones(3, 40, dtype=torch.bool)
    mask[1, 25:] = False
    mask[2, ::3] = False
    for one, there in zip(points, mask, strict=True):
        rows = there.nonzero()[:, 0]
        gaps = gaps_to(one[None], there[None], rows[None])[0, rows]
        expected = by_scipy(one[rows])
        heights = linkage(one[rows].numpy(), "single")[:, 2]
        usual = np.sort(heights)[len(heights) // 2]
        np.testing.assert_allclose(gaps, expected / usual, rtol=1e-9, atol=1e-12)


def test_sets_of_a_batch_do_not_know_of_one_another():
    points, mask = drawn(4, 30), torch.rand(4, 30, generator=seeded(1)) < 0.8
    landmarks = mask.long().argsort(dim=1, descending=True, stable=True)[:, :10]
    together = gaps_to(points, mask, landmarks)
    for number in range(4):
        one = slice(number, number + 1)
        alone = gaps_to(points[one], mask[one], landmarks[one])
        assert torch.equal(alone[0][mask[number]], together[number][mask[number]])


def test_the_order_of_the_points_does_not_matter():
    points, mask = drawn(1, 50), torch.ones(1, 50, dtype=torch.bool)
    everyone = torch.arange(50)[None]
    shuffled = torch.randperm(50, generator=seeded(2))
    gaps = gaps_to(points, mask, everyone)[0]
    torch.testing.assert_close(
        gaps_to(points[:, shuffled], mask, everyone)[0], gaps[shuffled][:, shuffled]
    )


def test_every_point_is_visited_once_and_padding_last():
    points, mask = drawn(2, 20), torch.ones(2, 20, dtype=torch.bool)
    mask[1, 3:9] = False
    order, heights = visit(points, mask)
    assert torch.equal(order.sort(1).values, torch.arange(20).expand(2, -1))
    assert not mask[1][order[1, 14:]].any()
    assert not heights[1, 14:].any()
    assert (heights[:, 1:14] > 0).all()


def test_copies_of_a_point_do_not_make_every_gap_wide():
    line = torch.arange(10.0).repeat_interleave(5)[None, :, None]
    gaps = gaps_to(line, torch.ones(1, 50, dtype=torch.bool), torch.arange(50)[None])
    assert set(gaps.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("heights", [[0.0, 0.0, 0.0], [0.0]])
def test_a_set_without_any_gap_has_a_unit(heights):
    assert usual_height(torch.tensor([heights])) == 1


def test_a_set_without_points_is_no_trouble():
    gaps = gaps_to(drawn(1, 6), torch.zeros(1, 6, dtype=torch.bool), torch.arange(4)[None])
    assert gaps.isfinite().all()


def test_leaps_reach_the_end_of_a_long_arm_and_not_the_next():
    """Two arms of a spiral with three turns: no walk comes round so many of them."""
    turns = torch.linspace(0.3, 3, 400).sqrt() * math.sqrt(3)
    arms = []
    for side in (0.0, math.pi):
        angle = 2 * math.pi * turns + side
        arms.append(torch.stack([turns * angle.cos(), turns * angle.sin()], -1))
    points = torch.cat(arms)[None]
    mask = torch.ones(1, 800, dtype=torch.bool)
    _, _, near, walks = survey(points, mask, 400, leaps=True)
    start = torch.zeros(1, 1, 800)
    start[0, 0, 0] = 1.0
    said = nearness(near, walk_from(start, near, walks))[0, 0]  # (N, M)
    assert said.shape == (800, n_scales(leaps=True))
    for scale in range(n_scales(leaps=False), n_scales(leaps=True) - 1):
        own, other = said[:400, scale], said[400:, scale]
        assert own.amin() > other.amax() + 1


def test_leaps_are_told_of_how_many_are_in_reach():
    """Of two groups far apart, one of three times as many points."""
    points = torch.cat(
        [torch.randn(90, 2, generator=seeded()), 50 + torch.randn(30, 2, generator=seeded(1))]
    )[None]
    ground = survey(points, torch.ones(1, 120, dtype=torch.bool), 120, leaps=True).ground
    crowds = ground.features[0, :, -len(LEAPS) :].exp()
    in_large = (ground.landmarks[0, :, 0] < 25).nonzero()[:, 0]
    in_small = (ground.landmarks[0, :, 0] > 25).nonzero()[:, 0]
    assert crowds[in_large, -1].median() == pytest.approx(0.75, abs=0.05)
    assert crowds[in_small, -1].median() == pytest.approx(0.25, abs=0.05)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="a kernel for GPUs")
def test_a_gpu_visits_the_same_points():
    points, mask = drawn(6, 300, 7), torch.rand(6, 300, generator=seeded(3)) < 0.9
    mask[5] = False
    landmarks = torch.arange(100).expand(6, -1)
    here = gaps_to(points, mask, landmarks)
    there = gaps_to(points.cuda(), mask.cuda(), landmarks.cuda()).cpu()
    valid = mask[..., None] & mask[:, None, :100]
    torch.testing.assert_close(there[valid], here[valid])
