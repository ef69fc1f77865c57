"""Probabilities of a network that is too sure of itself, flattened to mean what they say."""

from dataclasses import dataclass

from torch import Tensor

from coterie.inference.rules import Rule, RuleThrough


@dataclass(frozen=True)
class TemperedRule(RuleThrough):
    """Another rule, its probabilities to the power of one over the temperature; labels stay."""

    temperature: float

    def log_probabilities(self, points: Tensor) -> Tensor:
        return (super().log_probabilities(points) / self.temperature).log_softmax(-1)


def tempered(rule: Rule, temperature: float) -> Rule:
    """The rule at a temperature; at one it is itself."""
    return rule if temperature == 1 else TemperedRule(rule, temperature)
