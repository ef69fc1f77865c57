"""Plots of a clustering, as matplotlib figures to save or show; no window is opened."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.inference.result import NOISE, Clustering, Step
from coterie.palette import FAINT, INK, PALETTE, PAPER, TAKEN, colour_of, shape_of
from coterie.report.drawings import frame_of
from coterie.report.numerals import Numeral, numeral_of, tick_numeral
from coterie.report.plane import Plane, plane_of

try:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import Formatter

    from coterie.contours import LogDensity, draw_contours
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pictures need matplotlib: pip install 'coterie[plot]'", name="matplotlib"
    ) from error

SUFFIXES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")

SHAPES = ("o", "^", "s", "D", "v", "P")
MAX_POINTS = 20_000
MAX_PANELS = 12
MAX_NAMED = 12
MAP_WIDTH, MAP_HEIGHT = 130, 100


class View(NamedTuple):
    """Points as drawn, the indices shown, and how the numbers of each axis in own units read."""

    plane: Plane
    shown: NDArray[np.intp]
    numerals: tuple[Numeral, ...]


class ColumnFormatter(Formatter):
    """Ticks of a column as people write them: 28,000, and years without a comma."""

    def __init__(self, column: Numeral) -> None:
        self._column = column

    def __call__(self, value: float, position: int | None = None) -> str:
        """A number on the axis."""
        return self._column(value)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The ticks, with the decimals of their distance."""
        numeral = tick_numeral(list(values), self._column)
        return [numeral(value) for value in values]


def plot_clusters(
    points: ArrayLike,
    clustering: Clustering,
    *,
    names: Sequence[str] | None = None,
    read: ArrayLike | None = None,
    log_density: LogDensity | None = None,
) -> Figure:
    """Plot the points (n, d) in the colours of their clusters, more opaque for higher confidence.

    names: of the d columns; read: the points as the network read them, `model.fitted_.frame(X)`.
    More than two columns are drawn on the first two axes of read, or as the two named columns that
    separate the clusters best where these do it at least as well.

    log_density: of points with two columns, `model.score_samples`; it adds contours that enclose
    50, 80, 95 and 99 % of the points.
    """
    view = _view(points, clustering, names, read)
    figure = Figure(figsize=(7.2, 5.0), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    _draw_clusters(axes, view, clustering, _dot_size(len(view.shown), 34))
    _draw_density(axes, points, log_density)
    _dress(axes, view)
    axes.set_xlabel(view.plane.axes[0], color=INK, fontsize=10)
    axes.set_ylabel(view.plane.axes[1], color=INK, fontsize=10)
    axes.set_title(_count(clustering.n_clusters, "cluster"), loc="left", color=INK, weight="bold")
    figure.legend(
        handles=_cluster_handles(clustering),
        loc="outside right upper",
        frameon=False,
        labelcolor=INK,
        fontsize=9,
        handletextpad=0.2,
    )
    return figure


def plot_steps(
    points: ArrayLike,
    clustering: Clustering,
    *,
    names: Sequence[str] | None = None,
    read: ArrayLike | None = None,
    log_density: LogDensity | None = None,
) -> Figure:
    """Plot the steps in which the clusters of the points (n, d) were found.

    Each panel is a step: points of earlier clusters are small and grey, remaining points are
    shaded by their membership probability, and points that join are highlighted. The last panel
    is the final clustering. names, read, log_density: see `plot_clusters`.
    """
    view = _view(points, clustering, names, read)
    numbers = _telling_steps(clustering.steps)
    n_panels = len(numbers) + 1
    columns = _n_columns(n_panels)
    rows = -(-n_panels // columns)
    figure = Figure(figsize=(2.9 * columns, 2.45 * rows + 0.7), dpi=150, layout="constrained")
    figure.get_layout_engine().set(wspace=0.04, hspace=0.06)  # type: ignore[union-attr,call-arg]
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    size = _dot_size(len(view.shown), 17)

    free = iter(panels.flat)
    taken = np.zeros(len(view.plane.places), dtype=bool)
    for number, step in enumerate(clustering.steps):
        if number in numbers:
            axes = next(free)
            _draw_step(axes, view, step, taken, clustering.fate(step), size)
            detail = f"takes {len(step.claimed):,} of {len(step.offered):,}"
            _title(axes, f"step {number + 1}", detail)
        taken[step.claimed] = True
    final = next(free)
    final.set_facecolor(PAPER)
    _draw_clusters(final, view, clustering, size)
    _draw_density(final, points, log_density)
    _title(final, "outcome", _count(clustering.n_clusters, "cluster"))
    for axes in free:
        axes.remove()
    for axes in panels.flat[:n_panels]:
        _dress(axes, view)
    _show_lowest_ticks(panels, n_panels)
    figure.supxlabel(view.plane.axes[0], color=INK, fontsize=9)
    figure.supylabel(view.plane.axes[1], color=INK, fontsize=9)
    figure.legend(
        handles=_step_handles(),
        loc="outside upper left",
        ncols=4,
        frameon=False,
        labelcolor=INK,
        fontsize=8.5,
        handletextpad=0.2,
        title=_omission(clustering, view),
        alignment="left",
        title_fontproperties={"size": 8.5},
    )
    return figure


def _view(
    points: ArrayLike,
    clustering: Clustering,
    names: Sequence[str] | None,
    read: ArrayLike | None,
) -> View:
    points = np.asarray(points, dtype=np.float64)
    n_points = len(clustering.labels)
    if points.ndim != 2 or len(points) != n_points:
        raise ValueError(f"points must be (n, d) with n = {n_points}, got shape {points.shape}")
    if names is not None and len(names) != points.shape[1]:
        raise ValueError(f"{len(names)} names for {points.shape[1]} columns")
    if read is not None:
        read = np.asarray(read, dtype=np.float64)
        if read.ndim != 2 or len(read) != n_points:
            raise ValueError(f"read must be (n, m) with n = {n_points}, got shape {read.shape}")
    shown = np.arange(n_points)
    if n_points > MAX_POINTS:
        shown = np.sort(np.random.default_rng(0).choice(n_points, MAX_POINTS, replace=False))
    plane = plane_of(points, names, read, clustering.labels)
    called = zip(plane.axes, plane.columns, strict=False)
    return View(plane, shown, tuple(numeral_of(points[:, j], name) for name, j in called))


def _telling_steps(steps: Sequence[Step]) -> set[int]:
    """The steps that get a panel: all, or those that took the most points."""
    claims = [len(step.claimed) for step in steps]
    return {int(number) for number in np.argsort(claims, kind="stable")[::-1][: MAX_PANELS - 1]}


def _draw_clusters(axes: Axes, view: View, clustering: Clustering, size: float) -> None:
    labels, k = clustering.labels, clustering.n_clusters
    sure = (clustering.confidence - 1 / k) / (1 - 1 / k) if k > 1 else np.ones(len(labels))
    sure = np.where(labels == NOISE, 0.5, sure)
    for cluster in np.unique(labels).tolist():
        members = view.shown[labels[view.shown] == cluster]
        x, y = view.plane.places[members].T
        axes.scatter(
            x,
            y,
            s=size,
            c=[colour_of(cluster)],
            alpha=0.2 + 0.75 * np.clip(sure[members], 0, 1),
            marker=_shape(cluster),
            linewidths=0,
        )


def _draw_density(axes: Axes, points: ArrayLike, log_density: LogDensity | None) -> None:
    if log_density is None:
        return
    points = np.asarray(points, dtype=np.float64)
    if points.shape[1] != 2:
        raise ValueError(f"contours of a density need points of two columns, got {points.shape[1]}")
    draw_contours(axes, points, log_density)


def _draw_step(
    axes: Axes, view: View, step: Step, taken: NDArray[np.bool_], cluster: int, size: float
) -> None:
    shown = np.zeros(len(view.plane.places), dtype=bool)
    shown[view.shown] = True
    x, y = view.plane.places[taken & shown].T
    axes.scatter(x, y, s=0.4 * size, c=TAKEN, linewidths=0, zorder=1)

    ramp = LinearSegmentedColormap.from_list("membership", ["white", colour_of(cluster)])
    line = 0.1 * np.sqrt(size)
    offered = shown[step.offered]
    joined = np.isin(step.offered, step.claimed)
    for chosen, area, shape, edge, order in (
        (offered & ~joined, 0.85 * size, "o", FAINT, 2),
        (offered & joined, 1.25 * size, _shape(cluster), _darker(colour_of(cluster)), 3),
    ):
        x, y = view.plane.places[step.offered[chosen]].T
        axes.scatter(
            x,
            y,
            s=area,
            c=ramp(step.probabilities[chosen]),
            marker=shape,
            edgecolors=edge,
            linewidths=line,
            zorder=order,
        )


def _dress(axes: Axes, view: View) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(TAKEN)
    axes.tick_params(colors=FAINT, labelsize=8, length=0)
    axes.margins(0.06)
    for axis, column in zip((axes.xaxis, axes.yaxis), view.numerals, strict=False):
        axis.set_major_formatter(ColumnFormatter(column))
    if view.plane.stretch is not None:
        # Limits of the shape of a panel, which a map true to scale then fills.
        frame = frame_of(view.plane.places, MAP_WIDTH, MAP_HEIGHT, stretch=view.plane.stretch)
        room = 0.06 * (frame.high - frame.low)
        (left, bottom), (right, top) = frame.low - room, frame.high + room
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.set_aspect(view.plane.stretch, adjustable="box")
    if not view.plane.axes[1]:
        axes.set_yticks([])


def _show_lowest_ticks(panels: NDArray[np.object_], used: int) -> None:
    """Label the x axis of the lowest panel of each column, also if the last row is not full."""
    columns = panels.shape[1]
    for number, axes in enumerate(panels.flat[:used]):
        if number + columns >= used:
            axes.tick_params(labelbottom=True)


def _title(axes: Axes, name: str, detail: str) -> None:
    axes.set_title(name, loc="left", color=INK, fontsize=9.5, weight="bold")
    axes.set_title(detail, loc="right", color=FAINT, fontsize=8.5)


def _cluster_handles(clustering: Clustering) -> list[Line2D]:
    inside = clustering.labels[clustering.labels != NOISE]
    sizes = np.bincount(inside, minlength=clustering.n_clusters)
    named = len(sizes) if len(sizes) <= MAX_NAMED else MAX_NAMED - 1
    handles = [
        _handle(f"{cluster}   {_count(size, 'point')}", _shape(cluster), colour_of(cluster))
        for cluster, size in enumerate(sizes[:named])
    ]
    if named < len(sizes):
        rest = f"{len(sizes) - named} smaller   {_count(sizes[named:].sum(), 'point')}"
        handles.append(_handle(rest, "None", INK))
    if n_noise := len(clustering.labels) - len(inside):
        words = f"noise   {_count(n_noise, 'point')}"
        handles.append(_handle(words, _shape(NOISE), colour_of(NOISE)))
    return handles


def _step_handles() -> list[Line2D]:
    first = PALETTE[0]
    return [
        _handle("joins", "o", first, _darker(first)),
        _handle("remains, probability 0.5", "o", _halfway(first), FAINT),
        _handle("remains, probability 0", "o", "white", FAINT),
        _handle("taken before", ".", TAKEN),
    ]


def _handle(label: str, marker: str, face: str, edge: str = "none") -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=6.5,
        markerfacecolor=face,
        markeredgecolor=edge,
        label=label,
    )


def _omission(clustering: Clustering, view: View) -> str | None:
    """A note on steps and points that are not shown, and on those that the network did not read."""
    notes, parts = [], []
    n_points = len(view.plane.places)
    n_read = len(clustering.steps[0].offered) if clustering.steps else n_points
    if n_read < n_points:
        notes.append(f"the network reads {n_read:,} of {n_points:,} points, which the steps count")
    if len(clustering.steps) >= MAX_PANELS:
        parts.append(f"the {MAX_PANELS - 1} largest of {len(clustering.steps)} steps")
    if len(view.shown) < n_points:
        parts.append(f"{len(view.shown):,} of {n_points:,} points")
    if parts:
        notes.append(f"shown: {', '.join(parts)}")
    return "; ".join(notes) or None


def _n_columns(panels: int) -> int:
    return panels if panels <= 4 else 3 if panels in (5, 6, 9) else 4


def _dot_size(n_points: int, largest: float) -> float:
    """The area of a dot, smaller for many points, so that dense parts keep their shape."""
    return float(np.clip(largest * np.sqrt(200 / n_points), 1.5, largest))


def _halfway(colour: str) -> str:
    """Between white and a colour, as for a point of probability 0.5."""
    return _mix(colour, "white", 0.5)


def _darker(colour: str) -> str:
    return _mix(colour, "black", 0.55)


def _mix(colour: str, other: str, share: float) -> str:
    red, green, blue = (
        share * part + (1 - share) * rest
        for part, rest in zip(to_rgb(colour), to_rgb(other), strict=True)
    )
    return to_hex((red, green, blue))


def _shape(cluster: int) -> str:
    return SHAPES[shape_of(cluster)]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
