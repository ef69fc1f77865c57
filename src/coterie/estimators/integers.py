"""Integers that a user gives: `True` is none, although Python takes it for 1."""

from numbers import Integral
from typing import Any

from sklearn.utils._param_validation import Interval


class Integers(Interval):
    """The constraint of a parameter that is an integer, `least` or more."""

    def __init__(self, least: int) -> None:
        super().__init__(Integral, least, None, closed="left")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the parameter may have this value."""
        return is_integer(val) and bool(super().is_satisfied_by(val))


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, of Python or NumPy, and no boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)
