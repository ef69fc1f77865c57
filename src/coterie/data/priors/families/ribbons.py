"""Ribbons: long thin clusters that run side by side, as waves, zigzags or the arms of a spiral.

Chains of nearest neighbours must stay on a ribbon, so the distance between ribbons is several times
that between points, enough that random gaps along a ribbon are rarely as wide.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster
from coterie.data.priors.placing import bend, in_first_columns

CLEAR_EVEN, CLEAR_ANYWHERE = 5.0, 9.0  # between ribbons, in mean point distances along a ribbon
WIDEST = 0.6  # the distance between lanes at the steepest slope, in lengths of a lane


class _Lanes(NamedTuple):
    """Positions of points before they are mapped to curves: each cluster has its own lane."""

    number: Tensor  # (B, N, 1)
    along: Tensor  # (B, N, 1), 0 to 1
    how_many: Tensor  # (B, 1, 1)
    step: Tensor  # (B, 1, 1), the minimum distance between lanes, in lengths of a lane


def ribbons(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Every cluster fills its own lane, or in some cases a part of it; in two columns."""
    lanes = _lanes(plan, draws)
    spiral = draws.chance(0.5, len(plan.labels), 1, 1)
    flat = torch.where(spiral, _arms(lanes, draws), bend(_waves(lanes, draws), draws))
    return Drawn(in_first_columns(flat, columns), plan.labels)


def _waves(lanes: _Lanes, draws: Draws) -> Tensor:
    """Parallel waves or zigzags, as close together as they remain distinguishable: (B, N, 2)."""
    n_sets, n_points, _ = lanes.along.shape
    often = draws.uniform(0.5, 3.0, n_sets, 1, 1)
    phase = often * lanes.along + draws.uniform(0, 1, n_sets, 1, 1)
    tooth = 4 * (phase % 1.0 - 0.5).abs() - 1
    wave = torch.where(draws.chance(0.5, n_sets, 1, 1), tooth, (2 * math.pi * phase).cos())
    # A slope makes the lanes longer and closer together: the limit keeps them distinguishable.
    steepest = (WIDEST / lanes.step - 1).clamp_min(0).sqrt()
    steep = draws.chance(0.8, n_sets, 1, 1) * draws.uniform(0.3, 1.0, n_sets, 1, 1) * steepest
    slope = (1 + steep.square()).sqrt()
    apart = (lanes.step * slope.square()).clamp_min(0.04) * draws.uniform(1, 2.5, n_sets, 1, 1)
    across = draws.uniform(0.02, 0.12, n_sets, 1, 1) * apart / slope
    height = apart * lanes.number + steep / (4 * often) * wave
    return torch.cat([lanes.along, height], -1) + across * draws.normal(n_sets, n_points, 2)


def _arms(lanes: _Lanes, draws: Draws) -> Tensor:
    """The arms of a spiral, in some sets around a core: (B, N, 2)."""
    n_sets, n_points, _ = lanes.along.shape
    k = lanes.how_many
    inmost = (0.08 * k).clamp_min(0.2)  # closer to the centre many arms would meet
    # Uniform along the curve: the length of a turn is proportional to its radius, inmost + 2 a.
    along = ((inmost.square() + 4 * lanes.along * (1 + inmost)).sqrt() - inmost) / 2
    # More turns make the arms longer and closer together: the limit keeps them distinguishable.
    # The distance between arms is 2 / (k turns), and the length of an arm is about 8 turns.
    most = (0.25 / (k * lanes.step)).sqrt()
    turns = torch.minimum(draws.log_uniform(0.6, 5.0, n_sets, 1, 1), most)
    angle = 2 * math.pi * (turns * along + lanes.number / k)
    fuzz = draws.log_uniform(0.02, 0.2, n_sets, 1, 1) / (0.3 + turns * k)
    radius = inmost + 2 * along + fuzz * draws.normal(n_sets, n_points, 1)
    arms = torch.cat([radius * angle.cos(), radius * angle.sin()], -1)
    core = draws.chance(0.2, n_sets, 1, 1) & (lanes.number == 0) & (k > 1)
    return torch.where(core, 0.05 * draws.normal(n_sets, n_points, 2), arms)


def _lanes(plan: Plan, draws: Draws) -> _Lanes:
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    own = torch.zeros(n_sets, k_max, device=labels.device)
    size = own.scatter_add(1, labels.clamp_min(0), plan.mask.float())  # (B, K)
    # A point's number in its cluster: its rank among all points sorted by label.
    place = torch.where(plan.mask, labels, k_max).argsort(dim=1, stable=True).argsort(1)
    number = place[..., None] - of_cluster((size.cumsum(1) - size)[..., None], labels)
    anywhere = draws.uniform(0, 1, n_sets, n_points, 1)
    even = draws.chance(0.5, n_sets, 1, 1)
    in_turn = (number + anywhere) / of_cluster(size[..., None], labels).clamp_min(1)

    some = draws.chance(0.3, n_sets, 1, 1) & draws.chance(0.5, n_sets, k_max, 1)
    length = torch.where(some, draws.uniform(0.08, 1.0, n_sets, k_max, 1), 1.0)
    start = (1 - length) * draws.uniform(0, 1, n_sets, k_max, 1)
    along = torch.where(even, in_turn, anywhere)
    along = of_cluster(start, labels) + of_cluster(length, labels) * along
    sparsest = torch.where(plan.exists, length[..., 0] / size.clamp_min(1), 0.0).amax(1)
    return _Lanes(
        labels.clamp_min(0)[..., None].float(),
        along.clamp(0, 1),
        plan.n_clusters[:, None, None].float(),
        torch.where(even, CLEAR_EVEN, CLEAR_ANYWHERE) * sparsest[:, None, None],
    )
