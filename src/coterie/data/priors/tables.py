"""Realistic tables: overlapping clusters in up to a hundred columns, synthetic or real.

Candidates are drawn as wide tables and mapped to the network's frame. Candidates whose clusters are
not recoverable there (`recovery.py`) are replaced by others, so that shapes stay static.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.columns import as_real_columns
from coterie.data.priors.draws import Draws, plan_sets
from coterie.data.priors.families.ellipsoids import ellipsoids
from coterie.data.priors.real_tables import draw_episodes, load_pool
from coterie.data.priors.recovery import pick_recovered, recovered
from coterie.functional.canonical import onto_first_axes, standardise

FEW_AXES = (2, 3, 4, 6, 8)


class DrawnTables(NamedTuple):
    """The same sets twice: as tables (B, N, W), and in the network's frame (B, N, D)."""

    tables: SetBatch
    seen: SetBatch


@dataclass(frozen=True)
class Tables:
    """Ellipsoids in columns of many kinds, and episodes of real tables.

    widest: the largest number of columns of a table, of which the network reads the first principal
    axes; episodes: the share of sets from real tables, whose classes a method that is given k
    recovers with an ARI above least_given_k; few_axes: the share of sets reduced to a few principal
    axes; spare: candidates for each set; least: the ARI below which a candidate counts as not
    recovered.
    """

    n_max: int = 1000
    k_max: int = 32
    columns: int = 16
    widest: int = 100
    episodes: float = 0.0
    least_given_k: float = 0.3
    few_axes: float = 0.25
    spare: float = 1.75
    least: float = 0.4

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets in the frame that the network reads."""
        return self.draw(n_sets, generator).seen

    def sample_tables(self, n_sets: int, generator: Generator) -> SetBatch:
        """The same sets as tables with standardised columns, as other methods read them."""
        return self.draw(n_sets, generator).tables

    def draw(self, n_sets: int, generator: Generator) -> DrawnTables:
        """The sets as tables and in the network's frame."""
        draws = Draws(generator)
        n_real = round(self.episodes * n_sets)
        kinds = [(self._ellipsoids, n_sets - n_real), (self._real, n_real)]
        kinds = [(kind, n) for kind, n in kinds if n]
        candidates = [kind(ceil(self.spare * n), draws) for kind, n in kinds]
        tables = padding_last(concatenated(candidates))
        tables = replace(tables, points=standardise(tables.points, tables.mask))
        seen = self._in_frame(tables, draws)
        found = recovered(seen, self.k_max).split([len(some.mask) for some in candidates])
        picked = [
            pick_recovered(some, n, self.least) for some, (_, n) in zip(found, kinds, strict=True)
        ]
        before = accumulate((len(some) for some in found[:-1]), initial=0)
        index = torch.cat([some + start for some, start in zip(picked, before, strict=True)])
        return DrawnTables(chosen(tables, index), chosen(seen, index))

    def _ellipsoids(self, n_sets: int, draws: Draws) -> SetBatch:
        plan = plan_sets(n_sets, self.n_max, self.k_max, draws)
        n_columns = draws.log_uniform(2, self.widest + 1, n_sets).floor()
        used = torch.arange(self.widest, device=n_columns.device) < n_columns[:, None]
        used = used.float()[:, None]  # (B, 1, W)
        points, labels = ellipsoids(plan, self.widest, used, draws)
        points = as_real_columns(standardise(points, plan.mask), draws) * used
        return SetBatch(points, plan.mask, labels)

    def _real(self, n_sets: int, draws: Draws) -> SetBatch:
        pool = load_pool(self.least_given_k, draws.generator.device)
        points, labels = draw_episodes(pool, n_sets, self.n_max, self.widest, draws)
        return SetBatch(points, labels >= 0, labels)

    def _in_frame(self, tables: SetBatch, draws: Draws) -> SetBatch:
        """Project each table onto its first principal axes, sometimes onto a few of them only."""
        # In double precision: TF32 matrix products, with ten bits, would rotate the axes.
        points = onto_first_axes(tables.points.double(), tables.mask, self.columns).float()
        n_sets = len(points)
        n_axes = torch.full((n_sets, 1, 1), self.columns, device=points.device)
        few = draws.chance(self.few_axes, n_sets, 1, 1)
        which = draws.choice(len(FEW_AXES), n_sets, 1, 1)
        for number, axes in enumerate(FEW_AXES):
            n_axes = torch.where(few & (which == number), axes, n_axes)
        shown = torch.arange(self.columns, device=points.device) < n_axes
        return replace(tables, points=torch.where(tables.mask[..., None] & shown, points, 0.0))


def concatenated(batches: Sequence[SetBatch]) -> SetBatch:
    """All sets of several batches of the same shape, one after the other."""
    parts = zip(*((batch.points, batch.mask, batch.labels) for batch in batches), strict=True)
    return SetBatch(*(torch.cat(tensors) for tensors in parts))


def chosen(batch: SetBatch, index: Tensor) -> SetBatch:
    """The sets at the indices (M,)."""
    labels = None if batch.labels is None else batch.labels[index]
    return SetBatch(batch.points[index], batch.mask[index], labels)


def padding_last(batch: SetBatch) -> SetBatch:
    """The same sets, valid points first."""
    order = torch.argsort((~batch.mask).to(torch.uint8), dim=1, stable=True)
    points = batch.points.gather(1, order[..., None].expand_as(batch.points))
    labels = None if batch.labels is None else batch.labels.gather(1, order)
    return SetBatch(points, batch.mask.gather(1, order), labels)
