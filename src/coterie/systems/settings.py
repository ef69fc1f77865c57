"""Checks of a configuration: the type of every setting, and the bounds of the numbers.

A configuration may come from a file that somebody else wrote, so a setting that would run for hours
or fill the memory is refused before a network is built.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints


class Bounds(NamedTuple):
    """The smallest and the largest value of a number, or of each number of a tuple."""

    least: float
    most: float


COUNT = Bounds(1, 100_000)
DEPTH = Bounds(0, 64)  # layers or repetitions, one after another
SHARE = Bounds(0, 1)
POSITIVE = Bounds(1e-6, 1e6)


def check_settings(config: Any, bounds: Mapping[str, Bounds]) -> None:
    """Raise a ValueError that names the first setting of a wrong type or out of its bounds."""
    types = get_type_hints(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        if not _is_of(value, types[field.name]):
            raise ValueError(
                f"{field.name} must be {_said(types[field.name])}, got {_shown(value)}"
            )
        if field.name in bounds:
            for number in value if isinstance(value, tuple) else (value,):
                _check_bounds(field.name, number, bounds[field.name])


def _check_bounds(name: str, number: float, bounds: Bounds) -> None:
    least, most = bounds
    if least <= number <= most:
        return
    if isinstance(number, float):
        allowed = f"lie between {least:g} and {most:g}"
    else:
        allowed = f"be {least:g} or more" if number < least else f"be {most:,} or less"
    raise ValueError(f"{name} must {allowed}, got {_shown(number)}")


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type that configurations use; numbers must be finite."""
    origin = get_origin(kind)
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_of(each, get_args(kind)[0]) for each in value)
    if origin in (Union, UnionType):
        return any(_is_of(value, each) for each in get_args(kind))
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    return type(value) is kind  # so that True is no number


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _said(kind: Any) -> str:
    if get_origin(kind) is Literal:
        names = get_args(kind)
        return " or ".join(names) if len(names) == 2 else f"one of {', '.join(names)}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_said(each) for each in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of finite numbers"
    said = {int: "an integer", float: "a finite number", bool: "true or false", NoneType: "null"}
    return said.get(kind, str(kind))


def _shown(value: Any) -> str:
    """The value, short enough for a message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or an integer of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
