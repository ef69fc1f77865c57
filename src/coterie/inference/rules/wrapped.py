"""Rules around another rule: in a frame of its own, or at another temperature."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from coterie.inference.rules.protocol import Rule
from coterie.inference.second_look import Frame


@dataclass(frozen=True)
class RuleThrough:
    """Another rule, which is shown or says something else where a subclass has it so."""

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
class LensRule(RuleThrough):
    """A rule that reads points in a frame of its own."""

    lens: Frame

    def log_probabilities(self, points: Tensor) -> Tensor:
        return super().log_probabilities(self._seen(points))

    def unwanted(self, points: Tensor) -> Tensor:
        return super().unwanted(self._seen(points))

    def _seen(self, points: Tensor) -> Tensor:
        return torch.from_numpy(self.lens(points.cpu().numpy())).to(self.device)


@dataclass(frozen=True)
class TemperedRule(RuleThrough):
    """Another rule, its probabilities to the power of one over the temperature; labels stay."""

    temperature: float

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (super().log_probabilities(points) / self.temperature).log_softmax(-1)


def tempered(rule: Rule, temperature: float) -> Rule:
    """The rule at a temperature; at one it is itself."""
    return rule if temperature == 1 else TemperedRule(rule, temperature)
