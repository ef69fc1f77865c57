"""Relative positions of clusters, and rotations and deformations of points."""

import math

import torch
from torch import Tensor

from coterie.data.priors.draws import Draws
from coterie.functional.fusing import fusible


def spread_out(
    centres: Tensor, radius: Tensor, exists: Tensor, gap: Tensor, *, steps: int = 16
) -> Tensor:
    """Push centres apart until pairs have approximately the required distance.

    centres (B, K, D), radius (B, K), exists (B, K) bool, gap (B,), in units of the two radii's sum.
    Crowded clusters end up about as close as the gap allows; the closest pairs are a little closer.
    """
    k = centres.shape[1]
    pair = exists[:, :, None] & exists[:, None, :]
    pair = pair & ~torch.eye(k, dtype=torch.bool, device=centres.device)
    wanted = gap[:, None, None] * (radius[:, :, None] + radius[:, None, :])
    for _ in range(steps):
        centres = _push_apart(centres, wanted, pair)
    return centres


@fusible
def _push_apart(centres: Tensor, wanted: Tensor, pair: Tensor) -> Tensor:
    """Push apart all pairs (B, K, K) closer than the wanted distance, once: (B, K, D)."""
    apart = centres[:, :, None] - centres[:, None]  # (B, K, K, D)
    distance = apart.square().sum(-1).clamp_min(1e-8).sqrt()
    short = torch.where(pair, (wanted - distance).clamp_min(0), 0.0)
    push = (apart * (short / distance)[..., None]).sum(2)
    crowd = (short > 0).sum(2).clamp_min(1)[..., None]
    return centres + 0.5 * push / crowd.sqrt()  # half each: an isolated pair needs one push


def line_up(line: Tensor, radius: Tensor, exists: Tensor, gap: Tensor) -> Tensor:
    """Centres on a line, shifted until all pairs have the required distance.

    line, radius, exists (B, K), gap (B,) as for spread_out, which gets stuck on a crowded line.
    """
    order = torch.where(exists, line, torch.inf).argsort(1)
    sorted_line, sorted_radius = line.gather(1, order), radius.gather(1, order)
    step = gap[:, None] * (sorted_radius + sorted_radius.roll(1, 1))
    packed = step.cumsum(1)  # positions at the minimum distances
    moved = packed + (sorted_line - packed).cummax(1).values
    return torch.zeros_like(line).scatter(1, order, moved)


def reflect(points: Tensor, mirror: Tensor) -> Tensor:
    """Points reflected in the plane orthogonal to a mirror: (B, N, D), broadcast (B, N, D)."""
    length = mirror.square().sum(-1, keepdim=True).clamp_min(1e-6)
    return points - 2 * mirror * (points * mirror).sum(-1, keepdim=True) / length


def turn(flat: Tensor, angle: Tensor) -> Tensor:
    """Points of the plane rotated about the origin: (..., 2), angle (..., 1)."""
    s, t = flat[..., :1], flat[..., 1:]
    return torch.cat([angle.cos() * s - angle.sin() * t, angle.sin() * s + angle.cos() * t], -1)


def in_first_columns(flat: Tensor, columns: int) -> Tensor:
    """Points of the plane in the first two columns of a table: (..., 2) -> (..., D)."""
    return torch.nn.functional.pad(flat, (0, columns - 2))


def bend(where: Tensor, draws: Draws) -> Tensor:
    """A smooth deformation of the plane without folds: (B, M, 2)."""
    n_sets = len(where)
    # It folds where amount * wave * pi / 2 reaches one in both directions.
    amount = draws.chance(0.5, n_sets, 1, 1) * draws.uniform(0, 0.3, n_sets, 1, 1)
    wave = draws.uniform(0.5, 2.0, n_sets, 1, 2)
    phase = draws.uniform(0, 2 * math.pi, n_sets, 1, 2)
    bent = where + amount * (wave * where.flip(-1) * math.pi / 2 + phase).sin()
    aspect = draws.log_uniform(0.5, 1.0, n_sets, 1, 1)
    bent = torch.cat([bent[..., :1], aspect * bent[..., 1:]], -1)
    return turn(bent, draws.uniform(0, 2 * math.pi, n_sets, 1, 1))
