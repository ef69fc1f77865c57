"""Sets of many kinds, for a model that can cluster any table.

A set is drawn in stages, each a function on whole batches: the labels, the positions from one of
the families, background noise, and transformations of the columns. Every family is drawn for every
set and one of them is kept, so that shapes are static and nothing waits for the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.draws import Drawn, Draws, plan_sets
from coterie.data.priors.families import FAMILIES
from coterie.data.priors.placing import reflect
from coterie.functional.canonical import onto_principal_axes, standardise


@dataclass(frozen=True)
class Universal:
    """Mixtures, sheets, shapes, regions and ribbons, with noise and uninformative columns.

    shares: the share of each family; noise: the share of sets with background points, labelled -1;
    tables: how often columns are added, rounded or skewed.
    """

    n_max: int = 1000
    k_max: int = 32
    columns: int = 16
    shares: tuple[tuple[str, float], ...] = (
        ("blobs", 0.22),
        ("images", 0.14),
        ("scenes", 0.18),
        ("regions", 0.11),
        ("territories", 0.11),
        ("roads", 0.10),
        ("enclosures", 0.05),
        ("ribbons", 0.09),
    )
    noise: float = 0.2
    tables: float = 0.3

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets in the frame that the network reads."""
        tables = self.sample_tables(n_sets, generator)
        points = onto_principal_axes(tables.points, tables.mask)
        return replace(tables, points=torch.where(tables.mask[..., None], points, 0.0))

    def sample_tables(self, n_sets: int, generator: Generator) -> SetBatch:
        """The same sets as tables with standardised columns, as other methods read them."""
        draws = Draws(generator)
        plan = plan_sets(n_sets, self.n_max, self.k_max, draws)
        used = draw_columns(n_sets, self.columns, draws)
        drawn = [FAMILIES[name](plan, self.columns, used, draws) for name, _ in self.shares]
        points, labels = mix(drawn, [share for _, share in self.shares], draws)
        mask = labels >= 0
        points, labels = with_noise(points, labels, self.noise, draws)
        points = as_table(points, mask, self.tables, draws)
        return SetBatch(standardise(points, mask), mask, labels)


def mix(drawn: Sequence[Drawn], shares: Sequence[float], draws: Draws) -> Drawn:
    """Choose a family for each set, in proportion to the shares."""
    points, labels = drawn[0]
    ticket = sum(shares) * draws.uniform(0, 1, len(labels), 1)
    for number, other in enumerate(drawn[1:], 1):
        later = ticket >= sum(shares[:number])  # (B, 1)
        points = torch.where(later[..., None], other.points, points)
        labels = torch.where(later, other.labels, labels)
    return Drawn(points, labels)


def draw_columns(n_sets: int, columns: int, draws: Draws) -> Tensor:
    """The columns that a set uses: one for these, zero for the others (B, 1, D); often two."""
    few, any_number = (
        draws.log_uniform(1, columns + 1, n_sets),
        draws.uniform(1, columns + 1, n_sets),
    )
    some = torch.where(draws.chance(0.5, n_sets), few, any_number).floor()
    n_columns = torch.where(draws.chance(0.4, n_sets), 2.0, some)
    return (torch.arange(columns, device=some.device) < n_columns[:, None]).float()[:, None]


def with_noise(points: Tensor, labels: Tensor, often: float, draws: Draws) -> Drawn:
    """Replace up to a fifth of the points of some sets by uniform noise, labelled -1."""
    valid = labels >= 0
    rate = draws.chance(often, len(labels), 1) * draws.uniform(0.01, 0.2, len(labels), 1)
    lost = valid & (draws.uniform(0, 1, *labels.shape) < rate)
    low = torch.where(valid[..., None], points, torch.inf).amin(1, keepdim=True)
    high = torch.where(valid[..., None], points, -torch.inf).amax(1, keepdim=True)
    anywhere = low + (high - low) * draws.uniform(-0.05, 1.05, *points.shape)
    return Drawn(torch.where(lost[..., None], anywhere, points), torch.where(lost, -1, labels))


def as_table(points: Tensor, mask: Tensor, often: float, draws: Draws) -> Tensor:
    """Rotate, skew and round columns, and add columns of noise: (B, N, D)."""
    n_sets, n_points, columns = points.shape
    points = standardise(points, mask)
    there = (points != 0).any(1, keepdim=True)  # (B, 1, D)
    turned = draws.chance(0.4, n_sets, 1, 1)
    for _ in range(2):
        mirror = draws.normal(n_sets, 1, columns)
        # Occasionally into empty columns as well: a planar shape becomes one in space.
        mirror = torch.where(there | draws.chance(0.15, n_sets, 1, 1), mirror, 0.0)
        points = torch.where(turned, reflect(points, mirror), points)

    def sometimes(probability: float) -> Tensor:
        return draws.chance(often, n_sets, 1, 1) & draws.chance(probability, n_sets, 1, 1)

    bend = draws.uniform(0.1, 0.6, n_sets, 1, columns)
    points = torch.where(sometimes(0.3), (bend * points.clamp(-6, 6)).expm1() / bend, points)
    filled = (points != 0).any(1, keepdim=True)
    # At most one noise column for two informative ones, and none in the plane, where it would
    # drown the shapes.
    last = filled.sum(-1, keepdim=True) * (1 + 0.5 * draws.uniform(0, 1, n_sets, 1, 1))
    added = ~filled & (torch.arange(columns, device=points.device) < last.floor()) & sometimes(0.5)
    points = torch.where(added, draws.normal(n_sets, n_points, columns), points)
    # Thin shapes in the plane only tolerate finer rounding than tables of many columns.
    fine = torch.where(there.sum(-1, keepdim=True) > 2, 1.0, 0.1)
    step = fine * draws.log_uniform(0.03, 0.4, n_sets, 1, columns)
    rounded = sometimes(0.4) & draws.chance(0.6, n_sets, 1, columns)
    points = torch.where(rounded, (points / step).round() * step, points)
    return torch.where(mask[..., None], points, 0.0)
