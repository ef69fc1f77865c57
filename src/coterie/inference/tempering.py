"""Probabilities of a network that is too sure of itself, flattened to mean what they say."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coterie.inference.rules import Rule


@dataclass(frozen=True)
class TemperedRule:
    """Another rule, its probabilities to the power of one over the temperature; labels stay."""

    rule: Rule
    temperature: float

    @property
    def device(self) -> torch.device:
        return self.rule.device

    @property
    def n_clusters(self) -> int:
        return self.rule.n_clusters

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (self.rule.log_probabilities(points) / self.temperature).log_softmax(-1)

    def unwanted(self, points: Tensor) -> Tensor:
        return self.rule.unwanted(points)

    def select(self, clusters: Tensor) -> "TemperedRule":
        return replace(self, rule=self.rule.select(clusters))


def tempered(rule: Rule, temperature: float) -> Rule:
    """The rule at a temperature; at one it is itself."""
    return rule if temperature == 1 else TemperedRule(rule, temperature)
