"""Walks among landmarks, held against matrix powers, a root finder and two rings."""

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from torch import Tensor

from coterie.functional.diffusion import (
    CARRIED,
    GAITS,
    NARROWEST,
    SMALLEST,
    WIDEST,
    Ground,
    Walks,
    choose_landmarks,
    drop_walks,
    local_unit,
    n_landmark_features,
    n_scales,
    nearness,
    reach,
    squared_distances,
    survey,
    walk_from,
)

EXACT = {"rtol": 1e-9, "atol": 1e-10}
SEEDS = st.integers(0, 2**31)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def everyone(points: Tensor) -> Tensor:
    return torch.ones(points.shape[:2], dtype=torch.bool)


class Heard(NamedTuple):
    """A survey, and what it says of walks from one point."""

    ground: Ground
    walks: Walks
    nearness: Tensor  # (B, N, M)


def hear(points: Tensor, mask: Tensor, n_landmarks: int, start: Tensor) -> Heard:
    """Walks from one point of each set, start (B,)."""
    _, ground, _, walks = survey(points, mask, n_landmarks)
    near = torch.where(mask[..., None], reach(points, ground), 0.0)
    weights = torch.zeros(mask.shape, dtype=points.dtype).scatter(1, start[:, None], 1.0)
    weights = torch.where(mask, weights, 0.0)[:, None]
    return Heard(ground, walks, nearness(near, walk_from(weights, near, walks))[:, 0])


# Landmarks


def test_landmarks_stand_evenly_along_the_first_column():
    place = torch.randperm(100, generator=seeded(0))
    points = torch.stack([place.double(), torch.rand(100, generator=seeded(1)).double()], -1)[None]
    index, there = choose_landmarks(points, everyone(points), 10)
    assert points[0, index[0], 0].tolist() == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    assert there.all()


def test_few_points_are_all_landmarks():
    points, mask = normal(2, 6, 2), torch.tensor([[True] * 6, [True, False] * 3])
    index, there = choose_landmarks(points, mask, 8)
    assert there.sum(1).tolist() == [6, 3]
    assert sorted(index[0, :6].tolist()) == list(range(6))
    assert sorted(index[1, :3].tolist()) == [0, 2, 4]


def test_the_choice_on_a_grid_does_not_follow_the_order_of_the_points():
    grid = torch.cartesian_prod(torch.arange(5), torch.arange(8)).double()[None]
    chosen = []
    for seed in range(3):
        points = grid[:, torch.randperm(40, generator=seeded(seed))]
        chosen.append(points[0, choose_landmarks(points, everyone(points), 7)[0][0]])
    assert torch.equal(chosen[0], chosen[1])
    assert torch.equal(chosen[0], chosen[2])


# The local distance


@pytest.mark.parametrize("neighbours", [3.0, 10.0])
def test_local_unit_is_the_root_that_brentq_finds(neighbours):
    points = normal(1, 40, 3)
    square = squared_distances(points, points)
    found = local_unit(square, torch.ones(1, 40, 40).bool(), neighbours)[0]
    for row, unit in zip(square[0].numpy(), found.tolist(), strict=True):

        def excess(log_unit: float, row: np.ndarray = row) -> float:
            return float(np.exp(-row / math.exp(log_unit) ** 2).sum() - 1 - neighbours)

        root = math.exp(brentq(excess, math.log(NARROWEST), math.log(WIDEST)))
        assert unit == pytest.approx(root, rel=1e-3)


def test_local_unit_stays_within_its_bounds():
    crowd, few = torch.zeros(1, 30, 2), torch.eye(3)[None]
    both = torch.ones(1, 30, 30).bool()
    narrow = local_unit(squared_distances(crowd, crowd), both, 3.0)
    wide = local_unit(squared_distances(few, few), both[:, :3, :3], 3.0)
    torch.testing.assert_close(narrow, torch.full((1, 30), NARROWEST), rtol=1e-3, atol=0)
    torch.testing.assert_close(wide, torch.full((1, 3), WIDEST), rtol=1e-3, atol=0)


# Walks


def walks_by_hand(points: Tensor) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Of points that are all landmarks: units and affinities by gait, powers of the walk."""
    square = np.square(points.numpy()[:, None] - points.numpy()[None]).sum(-1)
    everybody = torch.ones(1, len(points), len(points)).bool()
    units, affinities, powers = [], [], []
    for neighbours, doublings in GAITS:
        unit = local_unit(torch.from_numpy(square)[None], everybody, neighbours)[0].numpy()
        affinity = np.exp(-square / np.outer(unit, unit))
        walk = affinity / affinity.sum(1, keepdims=True)
        units.append(unit)
        affinities.append(affinity)
        powers += [np.linalg.matrix_power(walk, 2**doubling) for doubling in doublings]
    return units, affinities, powers


@pytest.mark.parametrize("n_landmarks", [20, 33], ids=["all", "some-missing"])
def test_walks_are_the_powers_of_one_step(n_landmarks):
    points = normal(20, 2)
    points = points[points[:, 0].argsort()]  # the order of the landmarks
    _, ground, _, walks = survey(points[None], torch.ones(1, 20).bool(), n_landmarks)
    units, affinities, powers = walks_by_hand(points)
    there = slice(0, 20)
    assert walks.ends.shape == (1, n_scales(leaps=False), n_landmarks, n_landmarks)
    for scale, power in enumerate(powers):
        expected = torch.from_numpy(power)
        torch.testing.assert_close(walks.ends[0, scale, there, there], expected, **EXACT)
    degree = affinities[0].sum(1) / affinities[0].sum()
    torch.testing.assert_close(walks.degree[0, there], torch.from_numpy(degree), **EXACT)
    torch.testing.assert_close(ground.landmarks[0, there], points)
    torch.testing.assert_close(ground.unit[0, there], torch.from_numpy(units[1]), **EXACT)
    means = [torch.from_numpy(powers[scale]) @ points for scale in CARRIED]
    news = torch.cat([torch.from_numpy(units[1]).log()[:, None], *means], -1)
    assert news.shape[1] == n_landmark_features(2, leaps=False)
    torch.testing.assert_close(ground.features[0, there], news, **EXACT)


def test_nothing_leads_to_a_missing_landmark_or_away_from_it():
    points = normal(1, 5, 2)
    _, ground, _, walks = survey(points, everyone(points), 9)
    assert not walks.ends[:, :, 5:].any()
    assert not walks.ends[:, :, :, 5:].any()
    assert not walks.degree[:, 5:].any()
    assert not ground.features[:, 5:].any()
    assert ground.unit[:, 5:].isinf().all()
    assert not reach(points, ground)[:, :, 5:].any()


@given(seed=SEEDS, n_points=st.integers(1, 30), dtype=st.sampled_from(["float32", "float64"]))
@settings(max_examples=20)
def test_a_walk_ends_somewhere(seed, n_points, dtype):
    points = normal(1, n_points, 3, seed=seed).to(getattr(torch, dtype))
    _, ground, _, walks = survey(points, everyone(points), 12)
    there = min(n_points, 12)
    rows = walks.ends[0, :, :there].sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows))
    torch.testing.assert_close(walks.degree.sum(1), torch.ones_like(walks.degree[:, 0]))
    reached = reach(points, ground).sum(-1)
    torch.testing.assert_close(reached, torch.ones_like(reached))


def test_wide_walks_leave_the_degree_as_it_is():
    points = normal(2, 30, 2)
    *_, walks = survey(points, everyone(points), 16)
    for scale in range(len(GAITS[0][1])):
        stayed = (walks.degree[:, None] @ walks.ends[:, scale])[:, 0]
        torch.testing.assert_close(stayed, walks.degree, **EXACT)


# What a point hears


def rings(n_each: int) -> Tensor:
    """Two concentric rings, radii 0.5 and 1.5: (1, 2 n, 2)."""
    angle = torch.arange(n_each, dtype=torch.float64) * (2 * math.pi / n_each) + 0.1
    ring = torch.stack([angle.cos(), angle.sin()], -1)
    return torch.cat([0.5 * ring, 1.5 * ring])[None]


@pytest.mark.parametrize("n_landmarks", [200, 90], ids=["all", "some"])
def test_a_long_walk_stays_on_its_ring(n_landmarks):
    points = rings(100)
    inner = torch.arange(200) < 100
    for start in (3, 150):
        heard = hear(points, everyone(points), n_landmarks, torch.tensor([start])).nearness[0, :, 4]
        own = inner if start < 100 else ~inner
        assert heard[own].min() > heard[~own].max() + 1
    # A straight line says otherwise: the other side of one's own ring is farther.
    apart = (points[0] - points[0, 150]).norm(dim=-1)
    assert apart[~inner].max() > apart[inner].max()


def test_a_short_walk_knows_its_neighbours_alone():
    points = rings(100)
    heard = hear(points, everyone(points), 200, torch.tensor([150])).nearness[0, :, 0]
    assert heard[145:156].min() > 1
    assert heard[100] < -3  # the other side of its own ring


def test_walks_from_everywhere_prefer_nothing():
    points = normal(2, 25, 2)
    _, ground, _, walks = survey(points, everyone(points), 12)
    near = reach(points, ground)
    heard = nearness(near, walk_from(torch.ones(2, 1, 25).double(), near, walks))
    torch.testing.assert_close(heard, torch.full_like(heard, math.log(1 + SMALLEST)))


def test_what_a_point_hears_is_summed_over_landmarks():
    points, weights = normal(1, 14, 2), torch.rand(1, 3, 14, generator=seeded(0)).double()
    _, ground, _, walks = survey(points, everyone(points), 6)
    near = reach(points, ground)
    heard = nearness(near, walk_from(weights, near, walks))
    assert heard.shape == (1, 3, 14, n_scales(leaps=False))
    share, ends, degree = near[0].numpy(), walks.ends[0].numpy(), walks.degree[0].numpy()
    for a in range(3):
        start = [weights[0, a].numpy() @ share[:, j] / share[:, j].sum() for j in range(6)]
        usual = sum(degree[j] * start[j] for j in range(6))
        for scale in range(n_scales(leaps=False)):
            told = [sum(ends[scale, i, j] * start[j] for j in range(6)) for i in range(6)]
            expected = np.log(share @ np.array(told) / usual + SMALLEST)
            np.testing.assert_allclose(heard[0, a, :, scale], expected, rtol=1e-9, atol=1e-9)


def test_reach_is_a_softmax_of_distances_in_local_units():
    points = normal(1, 9, 2)
    _, ground, *_ = survey(points, everyone(points), 5)
    others = normal(1, 4, 2, seed=1)
    apart = np.linalg.norm(others[0, :, None].numpy() - ground.landmarks[0].numpy(), axis=-1)
    weight = np.exp(-2 * (apart / ground.unit[0].numpy()) ** 2)
    expected = weight / weight.sum(1, keepdims=True)
    np.testing.assert_allclose(reach(others, ground)[0], expected, rtol=1e-9)


def test_walks_that_have_forgotten_say_nothing():
    points = rings(100).expand(2, -1, -1)
    mask, which = everyone(points), torch.tensor([True, False])
    _, ground, _, walks = survey(points, mask, 90)
    near = reach(points, ground)
    weights = (torch.arange(200) == 3).double().expand(2, 1, -1)
    heard, whole = (
        nearness(near, walk_from(weights, near, each)) for each in (drop_walks(walks, which), walks)
    )
    torch.testing.assert_close(heard[0], torch.zeros_like(heard[0]), rtol=0, atol=2 * SMALLEST)
    assert torch.equal(heard[1], whole[1])
    assert (whole[1].abs() > 1).any()


# Sets of any kind


@given(seed=SEEDS, n_points=st.integers(1, 20), n_padding=st.integers(0, 8))
@settings(max_examples=20)
def test_order_padding_and_companions_leave_the_walks(seed, n_points, n_padding):
    points, length = normal(n_points, 2, seed=seed), n_points + n_padding
    alone = hear(points[None], torch.ones(1, n_points).bool(), 8, torch.tensor([0]))
    place = torch.randperm(length, generator=seeded(seed))[:n_points]
    spread = torch.full((length, 2), 7.0, dtype=torch.float64)
    spread[place] = points
    valid = torch.zeros(length, dtype=torch.bool)
    valid[place] = True
    stranger = 1e3 * normal(length, 2, seed=seed + 1)
    batch = torch.stack([stranger, spread, spread])
    mask = torch.stack([torch.ones(length).bool(), valid, torch.zeros(length).bool()])
    together = hear(batch, mask, 8, place[:1].expand(3))
    there = min(n_points, 8)
    for mine, theirs in zip(together.walks, alone.walks, strict=True):
        torch.testing.assert_close(mine[1], theirs[0], **EXACT)
    for mine, theirs in zip(together.ground, alone.ground, strict=True):
        torch.testing.assert_close(mine[1, :there], theirs[0, :there], **EXACT)
    torch.testing.assert_close(together.nearness[1, place], alone.nearness[0], **EXACT)
    assert together.nearness.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    ("points", "valid"),
    [
        (torch.zeros(6, 2), torch.zeros(6)),
        (torch.ones(6, 2), torch.arange(6) == 2),
        (torch.ones(40, 2), torch.ones(40)),
        (1e4 * torch.eye(12), torch.ones(12)),
        (torch.tensor([[0.0, 0.0], [19.0, 0.0]]).repeat(15, 1), torch.ones(30)),
    ],
    ids=["nobody", "one", "equal", "lonely", "two-places"],
)
def test_odd_sets_give_finite_numbers(points, valid, dtype):
    points, mask = points.to(dtype)[None], valid.bool()[None]
    heard = hear(points, mask, 8, torch.tensor([2 % len(valid)]))
    assert heard.nearness.isfinite().all()
    assert all(part.isfinite().all() for part in heard.walks)
    assert heard.ground.features.isfinite().all()
    assert reach(points, heard.ground).isfinite().all()


def test_what_is_near_is_not_lost_in_what_is_far():
    near = 1e-3 * torch.randn(50, 2, generator=seeded(0))
    points = (near + torch.tensor([300.0, -200.0]))[None]  # float32
    exact = torch.cdist(points.double(), points.double()).square()
    found = squared_distances(points, points)
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-20)
    length = points.square().sum(-1)
    by_product = length[:, :, None] + length[:, None] - 2 * points @ points.transpose(1, 2)
    assert (by_product.double() - exact).abs().max() > exact.max()
    assert not found.diagonal(dim1=1, dim2=2).any()
