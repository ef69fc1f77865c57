"""Contours of a density in the plane, each around a share of the points."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from coterie.palette import INK

Numbers = NDArray[np.float64]
LogDensity = Callable[[Numbers], Numbers]  # (m, 2) -> (m,)

SHARES = (0.5, 0.8, 0.95, 0.99)  # of the points, inside a contour
ROOM = 0.15  # around the points, relative to their extent: contours there are closed
STEPS = 220  # along each axis


def draw_contours(axes: Axes, points: Numbers, log_density: LogDensity) -> None:
    """Lines of equal density around given shares of the points (n, 2).

    The levels are quantiles of the points' own density, so that they suit one of any height.
    """
    levels = np.unique(np.quantile(log_density(points), 1 - np.array(SHARES)))
    low, high = points.min(0), points.max(0)
    room = ROOM * np.maximum(high - low, 1e-9)
    x, y = (np.linspace(*ends, STEPS) for ends in zip(low - room, high + room, strict=True))
    places = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    heights = log_density(places).reshape(STEPS, STEPS)
    style: dict[str, Any] = {"colors": INK, "linestyles": "solid", "linewidths": 0.7, "alpha": 0.55}
    axes.contour(x, y, heights, levels, zorder=4, **style)
