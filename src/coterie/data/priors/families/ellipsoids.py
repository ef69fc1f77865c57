"""Overlapping ellipsoids in latent factors, of which only a few separate the clusters.

Real tables have many correlated columns and few informative directions. The clusters are therefore
drawn in a few latent factors, of which the columns are linear combinations: some columns depend on
the factors that separate the clusters, some on factors that all clusters share, some are pure
noise.
"""

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.mog import of_cluster
from coterie.data.priors.placing import line_up, reflect, spread_out
from coterie.functional.reduce import masked_mean

FACTORS = 10
TELLING = 6  # factors in which the clusters have different means, at most
CLOSEST = 1.2  # between means, in units of the sum of two deviations; more for few points


def ellipsoids(plan: Plan, columns: int, used: Tensor, draws: Draws) -> Drawn:
    """Clusters with full covariances, means two to five deviations apart, in correlated columns.

    used (B, 1, D) is one for the columns that a set uses.
    """
    factors = _factors(plan, used.sum(-1, keepdim=True), draws)
    return Drawn(_columns_of(factors, used, draws) * used, plan.labels)


def _factors(plan: Plan, n_columns: Tensor, draws: Draws) -> Tensor:
    """The latent factors (B, N, F), each with standard deviation 1; n_columns (B, 1, 1).

    Only the first few factors separate the clusters. A table has no more factors than columns.
    """
    n_sets, n_points, k_max = plan.shape
    labels = plan.labels
    number = torch.arange(FACTORS, device=labels.device)
    most = n_columns.clamp_max(TELLING)
    n_telling = (1 + draws.uniform(0, 1, n_sets, 1, 1) * most).floor().minimum(most)
    room = n_columns.clamp_max(FACTORS) - n_telling
    n_factors = n_telling + (draws.uniform(0, 1, n_sets, 1, 1).square() * (room + 1)).floor()
    telling, there = (number < n_telling).float(), (number < n_factors).float()  # (B, 1, F)

    noise = draws.normal(n_sets, n_points, FACTORS)
    freedom = 4.0  # of a t distribution: a normal over the root of a mean square
    spread = draws.normal(n_sets, n_points, int(freedom)).square().mean(-1, keepdim=True).sqrt()
    heavy = draws.chance(0.2, n_sets, 1, 1)
    noise = torch.where(heavy, noise / spread.clamp_min(0.2), noise)

    unlike = draws.chance(0.7, n_sets, 1, 1) * draws.uniform(0, 0.6, n_sets, 1, 1)
    shape = (unlike * draws.normal(n_sets, k_max, FACTORS).clamp(-2, 2)).exp()
    uneven = draws.chance(0.5, n_sets, 1, 1) * draws.uniform(0, 0.6, n_sets, 1, 1)
    size = (uneven * draws.normal(n_sets, k_max, 1).clamp(-2, 2)).exp()
    scale = shape * size * there
    placed = noise * of_cluster(scale, labels)
    turned = draws.chance(0.6, n_sets, 1, 1)  # otherwise the axes are the factors
    for _ in range(2):
        mirror = of_cluster(draws.normal(n_sets, k_max, FACTORS) * telling, labels)
        placed = torch.where(turned, reflect(placed, mirror), placed)

    radius = ((scale * telling).square().sum(-1) / n_telling[..., 0]).sqrt()  # (B, K)
    points_a_cluster = plan.mask.sum(1) / plan.n_clusters
    gap = (CLOSEST + 1.5 / points_a_cluster.sqrt()) * draws.log_uniform(1.0, 2.3, n_sets)
    loose = draws.log_uniform(0.3, 4.0, n_sets, 1, 1)
    centres = loose * draws.normal(n_sets, k_max, FACTORS) * telling
    line = line_up(centres[..., 0], radius, plan.exists, gap)
    lined_up = torch.nn.functional.pad(line[..., None], (0, FACTORS - 1))
    centres = spread_out(centres, radius, plan.exists, gap)
    placed = placed + of_cluster(torch.where(n_telling > 1, centres, lined_up), labels)
    return _unit_columns(placed, plan.mask)


def _columns_of(factors: Tensor, used: Tensor, draws: Draws) -> Tensor:
    """Columns (B, N, D): linear combinations of the factors (B, N, F) plus independent noise."""
    n_sets, n_points, n_factors = factors.shape
    columns = used.shape[-1]
    strength = draws.uniform(0, 1.0, n_sets, 1, 1) * draws.normal(n_sets, n_factors, 1)
    dense = draws.normal(n_sets, n_factors, columns)
    # Otherwise a column depends on one factor; the first columns cover each factor once.
    n_active = (factors != 0).any(1).sum(1)[:, None, None].clamp_min(1)  # (B, 1, 1)
    first = torch.arange(columns, device=factors.device).expand(n_sets, 1, -1)
    anyone = (draws.uniform(0, 1, n_sets, 1, columns) * n_active).floor()
    shown = torch.where(first < n_active, first, anyone)
    single = torch.arange(n_factors, device=factors.device)[:, None] == shown  # (B, F, D)
    sparse = single + 0.2 * dense * draws.chance(0.5, n_sets, 1, 1)
    loading = torch.where(draws.chance(0.5, n_sets, 1, 1), strength.exp() * dense, sparse)
    active = (factors != 0).any(1)[..., None]  # (B, F, 1)
    loading = torch.where(active, loading, 0.0)
    loading = loading / loading.square().sum(1, keepdim=True).sqrt().clamp_min(1e-6)

    useless = draws.chance(0.5, n_sets, 1, 1) * draws.uniform(0, 0.5, n_sets, 1, 1)
    helps = (draws.uniform(0, 1, n_sets, 1, columns) >= useless) | (first == 0)  # at least one
    own = draws.log_uniform(0.03, 0.7, n_sets, 1, 1)
    own = own * (0.5 * draws.normal(n_sets, 1, columns)).exp()
    signal = torch.where(helps, factors @ loading, 0.0)
    own = torch.where(helps, own, 1.0)
    return signal + own * draws.normal(n_sets, n_points, columns)


def _unit_columns(points: Tensor, mask: Tensor) -> Tensor:
    """Columns with mean 0 and standard deviation 1; constant columns become zero: (B, N, D)."""
    centred = points - masked_mean(points, mask)[:, None]
    deviation = masked_mean(centred.square(), mask)[:, None].sqrt()
    return torch.where(deviation > 1e-6, centred / deviation.clamp_min(1e-6), 0.0)
