"""Territories that grow on a grid until they meet: winding, forked and interlocking regions."""

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.placing import bend
from coterie.data.priors.sifting import SPARE, sift
from coterie.functional.fusing import fusible

SIDE = 12  # squares along the side of the largest grid; nine are used with 1,000 points
STEPS = 28
AROUND = ((0, 1), (0, -1), (1, 0), (-1, 0))
NOBODY = -1


def territories(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Uniform points on the territories, with gaps where they meet; in two columns.

    The labels are those of the territories; one that lies entirely in a gap is missing.
    """
    n_sets, n_points, _ = plan.shape
    n = plan.mask.sum(1, keepdim=True)  # (B, 1)
    needed = plan.n_clusters[:, None].float().sqrt().ceil().clamp_min(4)  # a square for each
    side = (0.3 * n.sqrt()).floor().maximum(needed).clamp_max(SIDE)  # about a dozen points a square
    owner = _grow(side, plan, draws)
    settled = (owner != NOBODY).flatten(1)  # (B, SIDE * SIDE)
    area = settled.sum(1, keepdim=True)
    pick = (draws.uniform(0, 1, n_sets, SPARE * n_points) * area).long().minimum(area - 1)
    pick = torch.argsort(~settled, dim=1, stable=True).gather(1, pick)
    square = torch.stack([pick // SIDE, pick % SIDE], -1)  # (B, M, 2)
    inner = draws.uniform(0, 1, *square.shape)

    label = _look_up(owner, square)
    # Six times the distance between neighbours, reduced to three or four times once the gaps have
    # made the rest denser: arms are thin, and random gaps interrupt them.
    visible = 3.0 * (area / n).sqrt()
    gap = torch.maximum(draws.uniform(0.1, 0.6, n_sets, 1), visible / (1 + visible))
    kept = 2 * _to_others(inner, square, label, owner) > gap
    flat = bend(2 * (square + inner) / side[..., None] - 1, draws)
    return sift(flat, label, kept, plan, columns)


def _grow(side: Tensor, plan: Plan, draws: Draws) -> Tensor:
    """The owner of each square (B, SIDE, SIDE), NOBODY if it stays free; side (B, 1).

    Each cluster starts from one square and occupies adjacent free squares, at a rate that depends
    on the cluster and the square: every territory is connected, and territories interlock.
    """
    n_sets, _, k_max = plan.shape
    axis = torch.arange(SIDE, device=side.device) < side  # (B, SIDE)
    inside = axis[:, :, None] & axis[:, None, :]
    ticket = torch.where(inside, draws.uniform(0, 1, n_sets, SIDE, SIDE), 2.0)
    rank = ticket.flatten(1).argsort(1).argsort(1).view_as(ticket)
    owner = torch.where(rank < plan.n_clusters[:, None, None], rank, NOBODY)

    ground = draws.normal(n_sets, k_max, SIDE, SIDE)
    streaks = draws.chance(0.5, n_sets, 1, 1, 1) * draws.normal(n_sets, k_max, SIDE, 1)
    rough = draws.uniform(0.2, 2.0, n_sets, 1, 1, 1)
    pace = (-rough * (ground + 2 * streaks).abs()).exp()
    thin = draws.chance(0.5, n_sets, 1, 1, 1)
    wanted = torch.where(draws.chance(0.5, n_sets, 1, 1), STEPS, 6 + draws.choice(12, n_sets, 1, 1))
    for step in range(STEPS):
        tickets = draws.uniform(0, 1, 2, n_sets, len(AROUND), SIDE, SIDE)
        owner = _settle(owner, inside & (step < wanted), pace, thin, tickets)
    return owner


@fusible
def _settle(
    owner: Tensor, open_to_all: Tensor, pace: Tensor, thin: Tensor, tickets: Tensor
) -> Tensor:
    """The owner of each square after one growth step into the free squares: (B, S, S).

    open_to_all (B, S, S), the squares that may be occupied; pace (B, K, S, S); thin (B, 1, 1, 1):
    whether clusters only occupy squares that touch exactly one of their own, so that branches stay
    thin; tickets (2, B, 4, S, S) in [0, 1): whether a neighbour grows, and which one wins.
    """
    around = torch.stack([_shift(owner, x, y) for x, y in AROUND], 1)  # (B, 4, S, S)
    touching = (around[:, :, None] == around[:, None]).sum(2)
    comes = (around != NOBODY) & (tickets[0] < pace.gather(1, around.clamp_min(0)))
    comes = comes & (~thin | (touching == 1))
    first = torch.where(comes, tickets[1], -1.0).argmax(1, keepdim=True)
    comes = open_to_all & (owner == NOBODY) & comes.any(1)
    return torch.where(comes, around.gather(1, first)[:, 0], owner)


def _to_others(inner: Tensor, square: Tensor, label: Tensor, owner: Tensor) -> Tensor:
    """The distance from positions inside squares (B, M, 2) to adjacent foreign squares: (B, M)."""
    beyond = {-1: inner, 0: torch.zeros_like(inner), 1: 1 - inner}
    nearest = torch.full_like(inner[..., 0], torch.inf)
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            other = _look_up(_shift(owner, x, y), square)
            apart = (beyond[x][..., 0].square() + beyond[y][..., 1].square()).sqrt()
            foreign = (other != NOBODY) & (other != label)
            nearest = torch.where(foreign, torch.minimum(nearest, apart), nearest)
    return nearest


def _shift(owner: Tensor, x: int, y: int) -> Tensor:
    """The owners of the squares x down and y to the right: (B, S, S)."""
    size = owner.shape[-1]
    padded = torch.nn.functional.pad(owner, (1, 1, 1, 1), value=NOBODY)
    return padded[:, 1 + x : 1 + x + size, 1 + y : 1 + y + size]


def _look_up(grid: Tensor, square: Tensor) -> Tensor:
    """The grid's values (B, S, S) at the squares (B, M, 2): (B, M)."""
    return grid.flatten(1).gather(1, square[..., 0] * grid.shape[-1] + square[..., 1])
