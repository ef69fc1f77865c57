"""Rules on their way to where the rows are: small, and on the device of the machine there."""

from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from torch import Tensor, nn

from coterie.inference.rules.neighbours import NeighbourRule
from coterie.inference.rules.partition import PartitionRule
from coterie.inference.rules.protocol import Rule

T = TypeVar("T")


def slimmed(rule: Rule, *, noise: bool) -> Rule:
    """The same rule without what only a change of its clusters would need.

    noise: whether it will be asked which points fit no cluster.
    """
    if isinstance(rule, NeighbourRule):
        return rule.without_source(noise=noise)
    inner = getattr(rule, "rule", None)
    if inner is None:
        return rule
    return cast(Rule, replace(cast(Any, rule), rule=slimmed(inner, noise=noise)))


def placed(value: T, device: str) -> T:
    """A rule, or any part of one, that computes on the device; the original stays where it is."""
    if isinstance(value, PartitionRule):  # all of which is a search on the CPU
        return value
    if isinstance(value, NeighbourRule):  # whose own part is a search on the CPU
        return cast(T, replace(value, source=placed(value.source, device)))
    if isinstance(value, Tensor):
        return cast(T, value.to(device))
    if isinstance(value, nn.Module):
        return cast(T, deepcopy(value).to(device))
    if isinstance(value, tuple):
        parts = [placed(part, device) for part in value]
        return cast(T, type(value)(*parts) if hasattr(value, "_fields") else tuple(parts))
    if is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: placed(getattr(value, field.name), device)
            for field in fields(value)
            if field.init
        }
        return cast(T, replace(value, **changes))
    return value
