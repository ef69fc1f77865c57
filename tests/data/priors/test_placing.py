import math

import pytest
import torch

from coterie.data.priors.draws import Draws
from coterie.data.priors.placing import (
    bend,
    in_first_columns,
    line_up,
    reflect,
    spread_out,
    turn,
)


def draws(seed: int = 0) -> Draws:
    return Draws(torch.Generator().manual_seed(seed))


def crowd(k: int, d: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Centres that are too near, unequal radii, who exists (at least two) and gaps; 30 sets."""
    random = draws(k + d)
    exists = torch.arange(k) < 2 + random.choice(k - 1, 30, 1)
    gap = random.uniform(0.7, 4, 30)
    return 0.5 * random.normal(30, k, d), random.log_uniform(0.3, 2, 30, k), exists, gap


def gaps(centres: torch.Tensor, radius: torch.Tensor, exists: torch.Tensor) -> torch.Tensor:
    """Distances in units of the two radii's sum, infinite where there is no pair: (B, K, K)."""
    apart = (centres[:, :, None] - centres[:, None]).norm(dim=-1)
    pair = exists[:, :, None] & exists[:, None] & ~torch.eye(exists.shape[1], dtype=torch.bool)
    return torch.where(pair, apart / (radius[:, :, None] + radius[:, None]), torch.inf)


@pytest.mark.parametrize(("k", "d"), [(2, 2), (6, 2), (16, 2), (32, 3), (32, 8)])
def test_crowds_get_about_the_gap_that_is_asked_for(k, d):
    centres, radius, exists, gap = crowd(k, d)
    assert (gaps(centres, radius, exists).amin((1, 2)) < 0.5 * gap).float().mean() > 0.7
    nearest = gaps(spread_out(centres, radius, exists, gap), radius, exists).amin((1, 2)) / gap
    assert nearest.min() > 0.75
    assert 0.95 < nearest.mean() < 1.1


def test_centres_that_are_far_enough_stay():
    centres, radius, exists, _ = crowd(5, 3)
    far = 100 * centres + 100 * torch.arange(5)[:, None]
    gap = 0.9 * gaps(far, radius, exists).amin((1, 2))
    assert torch.equal(spread_out(far, radius, exists, gap), far)


def test_clusters_that_do_not_exist_push_nobody():
    centres, radius, exists, gap = crowd(6, 2)
    elsewhere = torch.where(exists[..., None], centres, 0.3)
    found, again = (spread_out(c, radius, exists, gap) for c in (centres, elsewhere))
    assert torch.equal(found[exists], again[exists])


def test_two_at_the_same_place_stay_finite():
    together = torch.zeros(1, 2, 2)
    everyone = torch.ones(1, 2, dtype=torch.bool)
    assert spread_out(together, torch.ones(1, 2), everyone, torch.ones(1)).isfinite().all()


def lined_up_by_hand(line: list[float], radius: list[float], gap: float) -> list[float]:
    """From left to right, each as far as it must be from the one before."""
    order = sorted(range(len(line)), key=line.__getitem__)
    placed: dict[int, float] = {}
    for before, i in zip([None, *order], order, strict=False):
        nearest = (
            -math.inf if before is None else placed[before] + gap * (radius[before] + radius[i])
        )
        placed[i] = max(line[i], nearest)
    return [placed[i] for i in range(len(line))]


@pytest.mark.parametrize("k", [2, 5, 32])
def test_a_line_is_that_by_hand_up_to_a_shift(k):
    centres, radius, exists, gap = crowd(k, 1)
    found = line_up(centres[..., 0], radius, exists, gap)
    for b in range(len(found)):
        there = exists[b]
        by_hand = lined_up_by_hand(
            centres[b, there, 0].tolist(), radius[b, there].tolist(), float(gap[b])
        )
        assert found[b, there].tolist() == pytest.approx(by_hand, abs=1e-3)


def test_neighbours_on_a_line_have_the_gap_that_is_asked_for():
    centres, radius, exists, gap = crowd(32, 1)
    lined_up = line_up(centres[..., 0], radius, exists, gap)[..., None]
    order = torch.where(exists, lined_up[..., 0], torch.inf).argsort(1)
    line, wide = lined_up[..., 0].gather(1, order), radius.gather(1, order)
    between = line.diff() / (wide[:, 1:] + wide[:, :-1])
    assert (between / gap[:, None])[exists[:, 1:]].min() > 0.999
    assert lined_up.isfinite().all()


def test_reflections_are_householders():
    random = draws()
    points, mirror = random.normal(3, 7, 5).double(), random.normal(3, 1, 5).double()
    found = reflect(points, mirror)
    for b in range(3):
        normal = mirror[b, 0] / mirror[b, 0].norm()
        matrix = torch.eye(5).double() - 2 * torch.outer(normal, normal)
        torch.testing.assert_close(found[b], points[b] @ matrix)
    torch.testing.assert_close(reflect(found, mirror), points)


def test_without_a_mirror_points_stay():
    points = draws().normal(1, 4, 3)
    assert torch.equal(reflect(points, torch.zeros(1, 1, 3)), points)


def test_turning_is_a_product_of_complex_numbers():
    random = draws()
    flat, angle = random.normal(50, 2).double(), random.uniform(-9, 9, 50, 1).double()
    product = torch.view_as_complex(flat) * torch.polar(torch.ones_like(angle), angle)[:, 0]
    torch.testing.assert_close(turn(flat, angle), torch.view_as_real(product))


def test_other_columns_are_empty():
    flat = draws().normal(2, 5, 2)
    table = in_first_columns(flat, 6)
    assert torch.equal(table[..., :2], flat)
    assert table.shape == (2, 5, 6)
    assert (table[..., 2:] == 0).all()
    assert torch.equal(in_first_columns(flat, 2), flat)


def test_bending_never_folds_the_plane():
    ticks = torch.linspace(-1, 1, 21)
    grid = torch.cartesian_prod(ticks, ticks)  # (441, 2)
    bent = bend(grid.expand(4000, -1, -1), draws()).view(4000, 21, 21, 2)
    down, right = bent[:, 1:, :-1] - bent[:, :-1, :-1], bent[:, :-1, 1:] - bent[:, :-1, :-1]
    area = down[..., 0] * right[..., 1] - down[..., 1] * right[..., 0]
    assert area.min() > 0
