"""Rules around another rule: in a frame of its own, with noise by spacing, or tempered."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from coterie.frames.protocol import Frame
from coterie.inference.outliers import Spacing
from coterie.inference.rules.protocol import Rule


@dataclass(frozen=True)
class WrappedRule:
    """Another rule; subclasses change its input or its output."""

    rule: Rule

    @property
    def device(self) -> torch.device:
        return self.rule.device

    @property
    def n_clusters(self) -> int:
        return self.rule.n_clusters

    def log_probabilities(self, points: Tensor) -> Tensor:
        return self.rule.log_probabilities(points)

    def unwanted(self, points: Tensor) -> Tensor:
        return self.rule.unwanted(points)

    def select(self, clusters: Tensor) -> Self:
        return replace(self, rule=self.rule.select(clusters))


@dataclass(frozen=True)
class FramedRule(WrappedRule):
    """A rule that reads points in a frame of its own."""

    frame: Frame

    def log_probabilities(self, points: Tensor) -> Tensor:
        return super().log_probabilities(self._seen(points))

    def unwanted(self, points: Tensor) -> Tensor:
        return super().unwanted(self._seen(points))

    def _seen(self, points: Tensor) -> Tensor:
        return torch.from_numpy(self.frame(points.cpu().numpy())).to(self.device)


@dataclass(frozen=True)
class SpacedRule(WrappedRule):
    """A rule for which noise is what lies far from all points that its clusters were found on."""

    spacing: Spacing

    def unwanted(self, points: Tensor) -> Tensor:
        return torch.from_numpy(self.spacing.beyond(points.cpu().numpy())).to(self.device)


@dataclass(frozen=True)
class TemperedRule(WrappedRule):
    """Another rule, its probabilities to the power of one over the temperature; labels stay."""

    temperature: float

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (super().log_probabilities(points) / self.temperature).log_softmax(-1)


def tempered(rule: Rule, temperature: float) -> Rule:
    """The rule at a temperature; at one it is itself."""
    return rule if temperature == 1 else TemperedRule(rule, temperature)
