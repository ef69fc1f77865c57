"""Which two columns of a table are coordinates on the earth, by their names."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# The words of a pair, and the farthest that a value may lie from zero.
LONGITUDE, LATITUDE = ("longitude", "long", "lon", "lng"), ("latitude", "lat")
FARTHEST = (360.0, 90.0)


class Coordinates(NamedTuple):
    """The columns of longitude and latitude, and how many times longer a degree of latitude is."""

    longitude: int
    latitude: int
    stretch: float


def coordinates(points: NDArray[np.float64], names: Sequence[str]) -> Coordinates | None:
    """The first pair of columns of points (n, d) that are coordinates by name and range.

    A pair shares the rest of its names, as in pickup_lat and pickup_lon.
    """
    longitudes, latitudes = _called(names, LONGITUDE), _called(names, LATITUDE)
    for rest, east in longitudes.items():
        north = latitudes.get(rest)
        if north is None:
            continue
        pair = points[:, [east, north]]
        if (abs(pair) <= FARTHEST).all():
            middle = np.radians(np.median(pair[:, 1]))
            return Coordinates(east, north, float(1 / max(0.05, np.cos(middle))))
    return None


def _called(names: Sequence[str], words: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The first column with one of the words in its name, by the other words of the name."""
    found: dict[tuple[str, ...], int] = {}
    for column, name in enumerate(names):
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
        parts = [part for part in re.split(r"[\W_\d]+", spaced.lower()) if part]
        rest = tuple(part for part in parts if part not in words)
        if len(rest) == len(parts) - 1:
            found.setdefault(rest, column)
    return found
