"""Rules as mixtures of densities: how likely a point is, and points like those of a cluster.

A cluster found by a network has the density that the network gave it, weighted by the points that
joined it; one of a mixture its component. Merged clusters add up, the sides of a cut share the
density of their cluster by the odds of each point.
"""

from functools import singledispatch
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from coterie.densities.full_gaussian import FullGaussian
from coterie.densities.gaussian import DiagonalGaussian
from coterie.densities.protocol import Density
from coterie.functional.em import Gaussians
from coterie.inference.rules.branching import BranchingRule
from coterie.inference.rules.divided import DividedRule
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.inference.rules.merged import MergedRule
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.posterior import PosteriorRule
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.rules.wrapped import SpacedRule, TemperedRule
from coterie.systems.protocol import Commit, Sequential

MOST_DRAWS = 1000  # of as many points as are wanted, before a cut counts as empty


class NoDensity(ValueError):
    """The clusters of a rule have no density."""


class Drawn(NamedTuple):
    """Points (n, D) and their clusters (n,), in the order of the clusters."""

    points: Tensor
    labels: Tensor


class Components(NamedTuple):
    """The densities of K clusters in one set, and the log of their shares (K,)."""

    densities: tuple[Density, ...]
    log_weight: Tensor

    def of(self, clusters: Tensor) -> "Components":
        """Some of them, in this order (K',)."""
        chosen = tuple(self.densities[cluster] for cluster in clusters.tolist())
        return Components(chosen, self.log_weight[clusters].log_softmax(0))


@torch.no_grad()
def log_joint(rule: Rule, points: Tensor, columns: int) -> Tensor:
    """Log of share times density of each cluster: (M, D) -> (M, K).

    columns: how many of the first columns hold data; the others are padding.
    """
    return _log_joint(rule, points, columns)


def has_density(rule: Rule) -> bool:
    """Whether the clusters of a rule have a density."""
    if isinstance(rule, SpacedRule | TemperedRule | MergedRule | DividedRule):
        return has_density(rule.rule)
    try:
        _components(rule)
    except NoDensity:
        return False
    return True


@torch.no_grad()
def draw(rule: Rule, n: int, columns: int, generator: Generator) -> Drawn:
    """n points of the mixture, on the rule's device, where the generator must be too."""
    drawn = _draw(rule, n, columns, generator)
    order = drawn.labels.argsort(stable=True)
    return Drawn(drawn.points[order, :columns], drawn.labels[order])


@singledispatch
def _components(rule: Rule) -> Components:
    raise NoDensity("the clusters of this model have no density")


@_components.register
def _(rule: MixtureRule) -> Components:
    return _of_gaussians(rule.mixture)


@_components.register
def _(rule: FullMixtureRule) -> Components:
    factor = torch.linalg.inv(rule.whitening)
    parts = zip(rule.mean.split(1), factor.split(1), strict=True)
    return Components(tuple(FullGaussian(*part) for part in parts), rule.log_weight)


@_components.register
def _(rule: PosteriorRule) -> Components:
    return Components(rule.densities, rule.log_weight)


@_components.register
def _(rule: ReplayRule) -> Components:
    sizes = torch.zeros(rule.n_served, dtype=torch.float64, device=rule.device)
    served: dict[int, Density] = {}  # by the last step that served a cluster
    for number, commit in zip(rule.served.tolist(), rule.commits, strict=True):
        sizes[number] += commit.joined[0].sum()
        served[number] = _density(rule.system, commit)
    densities = tuple(served[number] for number in range(rule.n_served))
    return Components(densities, (sizes / sizes.sum()).log()).of(rule.clusters)


@_components.register
def _(rule: BranchingRule) -> Components:
    whole = _components(rule.trunk)
    densities: list[Density] = []
    log_weight: list[Tensor] = []
    for number, branch in enumerate(rule.branches):
        parts = Components((whole.densities[number],), whole.log_weight.new_zeros(1))
        if branch is not None:
            parts = _components(branch)
        densities += parts.densities
        log_weight.append(whole.log_weight[number] + parts.log_weight)
    return Components(tuple(densities), torch.cat(log_weight)).of(rule.clusters)


def _of_gaussians(mixture: Gaussians) -> Components:
    parts = zip(mixture.mean.split(1), mixture.log_scale.split(1), strict=True)
    return Components(tuple(DiagonalGaussian(*part) for part in parts), mixture.log_weight)


def _density(system: Sequential, commit: Commit) -> Density:
    made = getattr(system, "density", None)
    density: Density | None = None if made is None else made(commit)
    if density is None:
        raise NoDensity("the clusters of this model have no density")
    return density


@singledispatch
def _log_joint(rule: Rule, points: Tensor, columns: int) -> Tensor:
    densities, log_weight = _components(rule)
    seen = points[None, :, :columns].double()
    each = [density.log_prob(seen)[0] for density in densities]
    return torch.stack(each, 1) + log_weight


@singledispatch
def _draw(rule: Rule, n: int, columns: int, generator: Generator) -> Drawn:
    densities, log_weight = _components(rule)
    labels = torch.multinomial(log_weight.exp(), n, replacement=True, generator=generator)
    sizes = labels.bincount(minlength=len(densities))
    parts = [
        density.sample(size, generator)[0].double()
        for density, size in zip(densities, sizes.tolist(), strict=True)
    ]
    numbers = torch.arange(len(densities), device=labels.device)
    return Drawn(torch.cat(parts), numbers.repeat_interleave(sizes))


@_log_joint.register(SpacedRule)
@_log_joint.register(TemperedRule)
def _(rule: SpacedRule | TemperedRule, points: Tensor, columns: int) -> Tensor:
    return _log_joint(rule.rule, points, columns)


@_draw.register(SpacedRule)
@_draw.register(TemperedRule)
def _(rule: SpacedRule | TemperedRule, n: int, columns: int, generator: Generator) -> Drawn:
    return _draw(rule.rule, n, columns, generator)


@_log_joint.register
def _(rule: MergedRule, points: Tensor, columns: int) -> Tensor:
    single = _log_joint(rule.rule, points, columns)
    return torch.stack([single[:, list(group)].logsumexp(1) for group in rule.groups], 1)


@_draw.register
def _(rule: MergedRule, n: int, columns: int, generator: Generator) -> Drawn:
    points, labels = _draw(rule.rule, n, columns, generator)
    group_of = torch.empty(rule.rule.n_clusters, dtype=torch.int64, device=labels.device)
    for number, group in enumerate(rule.groups):
        group_of[list(group)] = number
    return Drawn(points, group_of[labels])


@_log_joint.register
def _(rule: DividedRule, points: Tensor, columns: int) -> Tensor:
    return rule.divided(_log_joint(rule.rule, points, columns), points)[:, rule.clusters]


@_draw.register
def _(rule: DividedRule, n: int, columns: int, generator: Generator) -> Drawn:
    """Points of the clusters that were cut, each on a side by its odds, until n are selected."""
    roots = torch.tensor(sorted({rule.root(part) for part in rule.clusters.tolist()}))
    within = rule.rule.select(roots.to(rule.device))
    kept: list[Drawn] = []
    for _ in range(MOST_DRAWS):
        points, labels = _draw(within, n, columns, generator)
        labels = roots.to(labels)[labels]
        seen = torch.nn.functional.pad(points, (0, rule.width - points.shape[1]))
        for number, cut in enumerate(rule.cuts, rule.rule.n_clusters):
            coins = torch.rand(n, generator=generator, device=points.device)
            beyond = coins < cut.log_odds(seen).sigmoid()
            labels = torch.where((labels == cut.cluster) & beyond, number, labels)
        wanted = (labels[:, None] == rule.clusters).nonzero()  # (m, 2), point and place
        kept.append(Drawn(points[wanted[:, 0]], wanted[:, 1]))
        if sum(len(each.labels) for each in kept) >= n:
            points, labels = (torch.cat(parts)[:n] for parts in zip(*kept, strict=True))
            return Drawn(points, labels)
    raise NoDensity("no point of the cluster's density lies on this side of a cut")
