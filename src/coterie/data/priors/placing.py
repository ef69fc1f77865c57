"""Where clusters stand to one another, and how a cluster is turned."""

import torch
from torch import Tensor


def spread_out(
    centres: Tensor, radius: Tensor, exists: Tensor, gap: Tensor, *, steps: int = 12
) -> Tensor:
    """Centres pushed apart until pairs have about the distance that is asked for.

    centres (B, K, D), radius (B, K), exists (B, K) bool, gap (B,), in units of the two radii's sum.
    Clusters end up as close as the gap allows, as in a crowd; the closest pairs are a little
    closer.
    """
    k = centres.shape[1]
    pair = exists[:, :, None] & exists[:, None, :]
    pair = pair & ~torch.eye(k, dtype=torch.bool, device=centres.device)
    wanted = gap[:, None, None] * (radius[:, :, None] + radius[:, None, :])
    for _ in range(steps):
        apart = centres[:, :, None] - centres[:, None]  # (B, K, K, D)
        distance = apart.square().sum(-1).clamp_min(1e-8).sqrt()
        short = torch.where(pair, (wanted - distance).clamp_min(0), 0.0)
        push = (apart * (short / distance)[..., None]).sum(2)
        crowd = (short > 0).sum(2).clamp_min(1)[..., None]
        centres = centres + 0.75 * push / crowd.sqrt()
    return centres


def line_up(line: Tensor, radius: Tensor, exists: Tensor, gap: Tensor) -> Tensor:
    """Centres on a line, moved up until none has less than the distance that is asked for.

    line, radius, exists (B, K), gap (B,) as for spread_out, whose pushes a crowd on a line blocks.
    """
    order = torch.where(exists, line, torch.inf).argsort(1)
    sorted_line, sorted_radius = line.gather(1, order), radius.gather(1, order)
    step = gap[:, None] * (sorted_radius + sorted_radius.roll(1, 1))
    packed = step.cumsum(1)  # where they stand when each is as near as it may
    moved = packed + (sorted_line - packed).cummax(1).values
    return torch.zeros_like(line).scatter(1, order, moved)


def reflect(points: Tensor, mirror: Tensor) -> Tensor:
    """Points reflected in the plane orthogonal to a mirror: (B, N, D), broadcast (B, N, D)."""
    length = mirror.square().sum(-1, keepdim=True).clamp_min(1e-6)
    return points - 2 * mirror * (points * mirror).sum(-1, keepdim=True) / length


def turn(flat: Tensor, angle: Tensor) -> Tensor:
    """Points of the plane turned about the origin: (..., 2), angle (..., 1)."""
    s, t = flat[..., :1], flat[..., 1:]
    return torch.cat([angle.cos() * s - angle.sin() * t, angle.sin() * s + angle.cos() * t], -1)
