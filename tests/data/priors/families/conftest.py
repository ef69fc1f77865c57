from collections.abc import Callable

import pytest
import torch

from coterie.data.priors.draws import Drawn, Draws, Plan
from coterie.data.priors.families import FAMILIES

Draw = Callable[..., Drawn]


def plan_of(k: int, n: int, n_sets: int = 30, k_max: int = 16) -> Plan:
    """Sets of n points, with a tenth of padding, in k clusters of equal size."""
    number = torch.arange(n + n // 10)
    mask = (number < n).expand(n_sets, -1)
    labels = torch.where(mask, number % k, -1)
    exists = (torch.arange(k_max) < k).expand(n_sets, -1)
    return Plan(labels, mask, torch.full((n_sets,), k), exists)


@pytest.fixture
def draw() -> Draw:
    """Sets of a family, by name or as a function: draw(family, k=3, n=200, columns=6, used=2)."""

    def draw(family, *, k=3, n=200, columns=6, used=2, seed=0, **sizes) -> Drawn:
        plan = plan_of(k, n, **sizes)
        there = (torch.arange(columns) < used).float().expand(len(plan.labels), 1, -1)
        draws = Draws(torch.Generator().manual_seed(seed))
        family = FAMILIES[family] if isinstance(family, str) else family
        return family(plan, columns, there, draws)

    return draw


@pytest.fixture
def purity() -> Callable[[Drawn], torch.Tensor]:
    """For each set (B,), how many of the four nearest neighbours of a point have its label."""

    def purity(drawn: Drawn) -> torch.Tensor:
        found = []
        for points, labels in zip(*drawn, strict=True):
            points, labels = points[labels >= 0], labels[labels >= 0]
            nearest = torch.cdist(points, points).fill_diagonal_(torch.inf).topk(4, largest=False)
            found.append((labels[nearest.indices] == labels[:, None]).float().mean())
        return torch.stack(found)

    return purity
