"""The card of a weights file: what it says of itself, checked before anything is built from it."""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

from coterie.ood.size import Span
from coterie.ood.texture import Texture
from coterie.systems.registry import traits_of
from coterie.systems.traits import Traits

CONTEXT_SIZE = 10_000
LARGEST_CONTEXT = 1_000_000
COLDEST, HOTTEST = 1e-3, 1e3  # beyond them probabilities are 0 and 1, or all alike


@dataclass(frozen=True)
class Card:
    """What a weights file says of itself.

    system, settings: build the network again; traits: what is known of it without building it;
    trained_on: the prior in words; provenance: preset, seed, steps and the like; context_size: on
    how many points at most clusters are found, by default; sizes: of the training sets, for the
    plain frame; texture: the limits within which nearly all training sets lie, for the standard
    frame; temperature: at which the network's probabilities are calibrated.
    """

    system: str
    settings: dict[str, Any]
    traits: Traits
    trained_on: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    context_size: int = CONTEXT_SIZE
    sizes: Span | None = None
    texture: Texture | None = None
    temperature: float = 1.0


def read_card(entry: Any) -> Card:
    """The card of a header's entry; a ValueError says what in it cannot be."""
    if not isinstance(entry, dict):
        raise ValueError(f"it is not a record but {type(entry).__name__}")
    known = {each.name for each in fields(Card)}
    if unknown := sorted(set(entry) - known):
        raise ValueError(f"unknown entries {', '.join(unknown)}")
    if missing := [name for name in ("system", "settings", "traits") if name not in entry]:
        raise ValueError(f"no {' and no '.join(missing)}")
    card = replace(
        Card(**entry),
        settings=_settings(entry["settings"]),
        traits=_traits(entry["traits"]),
        sizes=_numbers("sizes", entry.get("sizes"), Span),
        texture=_numbers("texture", entry.get("texture"), Texture),
    )
    _check(card)
    return card


def check_settings_of(card: Card) -> None:
    """Raise a ValueError unless the settings build a system that has the traits of the card."""
    if not isinstance(card.settings, dict):
        raise ValueError(f"settings must be a record, got {card.settings!r}")
    built = traits_of(card.system, card.settings)
    for name in (each.name for each in fields(Traits) if each.name != "frame"):
        said, true = getattr(card.traits, name), getattr(built, name)
        if said != true:
            raise ValueError(f"the traits have {name}={said!r}, the settings {true!r}")


def _settings(entry: Any) -> Any:
    """Settings with tuples, of which JSON has made lists; anything else is refused later."""
    if not isinstance(entry, dict):
        return entry
    return {name: tuple(each) if isinstance(each, list) else each for name, each in entry.items()}


def _traits(entry: Any) -> Traits:
    if not isinstance(entry, dict) or not isinstance(entry.get("item_shape"), list | tuple):
        raise ValueError("traits must be a record with an item_shape")
    try:
        return Traits(**{**entry, "item_shape": tuple(entry["item_shape"])})
    except TypeError as error:
        raise ValueError(f"the traits are not those of a system: {error}") from error


def _check(card: Card) -> None:
    """Raise for entries of a wrong type or beyond what makes sense."""
    if not isinstance(card.trained_on, str):
        raise ValueError(f"trained_on must be text, got {card.trained_on!r}")
    if not isinstance(card.provenance, dict):
        raise ValueError(f"provenance must be a record, got {card.provenance!r}")
    if type(card.context_size) is not int or not 1 <= card.context_size <= LARGEST_CONTEXT:
        raise ValueError(
            f"context_size must be an integer from 1 to {LARGEST_CONTEXT:,},"
            f" got {card.context_size!r}"
        )
    if not _is_number(card.temperature) or not COLDEST <= card.temperature <= HOTTEST:
        raise ValueError(
            f"temperature must be a number from {COLDEST:g} to {HOTTEST:g},"
            f" got {card.temperature!r}"
        )
    if card.sizes is not None and not 0 <= card.sizes.low <= card.sizes.high:
        raise ValueError(f"sizes must be a low and a high one, got {tuple(card.sizes)}")


def _numbers(name: str, entry: Any, kind: Any) -> Any:
    """A named tuple of finite numbers, or None."""
    if entry is None:
        return None
    if not isinstance(entry, list | tuple) or len(entry) != len(kind._fields):
        raise ValueError(f"{name} must be {len(kind._fields)} numbers, got {entry!r}")
    if not all(_is_number(each) for each in entry):
        raise ValueError(f"{name} must be finite numbers, got {entry!r}")
    return kind(*entry)


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False
