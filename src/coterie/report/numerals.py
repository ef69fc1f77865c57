"""Numbers as people write them: 28,000 and 13.7, not 2.8e+04 and 13.699999."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MAX_DECIMALS = 6
LARGEST = 1e15
SOME = 2_000  # values that tell how many decimals a column has
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Words of names whose numbers are labels: nobody writes customer 100,001 or the year 2,019.
UNGROUPED = {"id", "ids", "year", "yr", "zip", "zipcode", "postcode", "code", "plz", "jahr", "nr"}


class Numeral(NamedTuple):
    """How the numbers of a column are written.

    decimals: usual number of them; whole: whether all values are integers; grouped: whether there
    are commas between the thousands; share: whether the column is zero or one other value, as the
    indicator of a category is.
    """

    decimals: int
    whole: bool = False
    grouped: bool = True
    share: bool = False

    def __call__(self, value: float) -> str:
        """A typical number of the column, such as a median."""
        if self.share:
            return "yes" if value else "no"
        decimals = min(self.decimals, MAX_DECIMALS)
        if self.whole:
            decimals = 0 if float(value).is_integer() else 1
        return self._written(value, decimals)

    def exact(self, value: float) -> str:
        """A number of a row, to seven digits, without commas."""
        if self.share:
            return self(value)
        if value and not 10.0**-MAX_DECIMALS <= abs(value) < LARGEST:
            return f"{value:.7g}"
        text = f"{value:.{max(0, 6 - _magnitude(value))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def pair(self, value: float, other: float) -> tuple[str, str]:
        """Two numbers, with the decimals that it takes to tell them apart."""
        if self.whole or self.share or value == other:
            return self(value), self(other)
        decimals = max(0, 1 - _magnitude(value - other))
        decimals = min(decimals, max(self.decimals, 1), MAX_DECIMALS)
        return self._written(value, decimals), self._written(other, decimals)

    def _written(self, value: float, decimals: int) -> str:
        if value and (abs(value) >= LARGEST or self.decimals > MAX_DECIMALS + 1):
            return _in_powers(value)
        text = f"{value:{',' if self.grouped else ''}.{decimals}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text  # no minus zero


def numeral_of(values: Numbers, name: str = "") -> Numeral:
    """How to write the numbers of a column with values (n,): by their range, and its name."""
    largest = float(abs(values).max())
    if _is_share(values):
        return Numeral(0, share=True)
    grouped = not UNGROUPED & set(re.split(r"[\W_]+", name.lower()))
    if largest < LARGEST and (values == np.rint(values)).all():
        return Numeral(0, whole=True, grouped=grouped)
    low, high = np.quantile(values, [0.05, 0.95])
    extent = float(high - low) or float(np.ptp(values)) or largest or 1.0
    some = values[:: max(1, len(values) // SOME)]
    given = next(
        (n for n in range(MAX_DECIMALS) if np.allclose(some, np.round(some, n), 0, 1e-9)),
        MAX_DECIMALS + 2,
    )
    return Numeral(max(0, min(given, 2 - _magnitude(extent))), grouped=grouped)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min((1, 2, 5, 10), key=lambda times: abs(times * size - rough))
    first, last = np.ceil(low / step), np.floor(high / step)
    return [float(number * step) + 0.0 for number in np.arange(first, last + 1)]  # no -0


def tick_numeral(values: Sequence[float], column: Numeral) -> Numeral:
    """How to write the ticks of an axis: with the decimals of their distance."""
    if len(values) < 2:
        return column._replace(share=False)
    step = 1.000001 * (values[1] - values[0])
    return Numeral(max(0, -_magnitude(step)), grouped=column.grouped)


def percent(share: float) -> str:
    """A share, as people say it: 31%, and <1% rather than 0%."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 < share < 1 else f"{share:.0%}"


def _is_share(values: Numbers) -> bool:
    """Whether values are zero or one other number above it, and both occur."""
    high = float(values.max())
    return high > 0 and bool(((values == 0) | (values == high)).all()) and bool((values == 0).any())


def _magnitude(value: float) -> int:
    """The power of ten of a number's first digit; of zero, none."""
    return int(np.floor(np.log10(abs(value)))) if value else 0


def _in_powers(value: float) -> str:
    digits, power = f"{value:.2e}".split("e")
    return f"{digits} · 10{str(int(power)).translate(SUPERSCRIPTS)}"
