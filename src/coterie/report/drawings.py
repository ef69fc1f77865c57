"""SVG drawings: dots, bars and distributions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.palette import FAINT, TAKEN, colour_of, shape_of
from coterie.report.markup import Html, element
from coterie.report.numerals import Numeral, percent, tick_numeral, ticks
from coterie.report.plane import Numbers

LEVELS = 5  # of confidence, as shades
N_BINS = 30


class Frame(NamedTuple):
    """The visible part of the plane, and the size of the picture in pixels."""

    low: Numbers  # (2,)
    high: Numbers  # (2,)
    width: int
    height: int
    margin: int = 14

    def __call__(self, places: Numbers) -> Numbers:
        """Positions (n, 2) in pixels, with y downwards."""
        extent = np.where(self.high > self.low, self.high - self.low, 1.0)
        share = np.where(self.high > self.low, (places - self.low) / extent, 0.5)
        share[:, 1] = 1 - share[:, 1]
        room = np.array([self.width, self.height]) - 2 * self.margin
        pixels: Numbers = self.margin + share * room
        return pixels


def frame_of(
    places: Numbers, width: int, height: int, margin: int = 14, *, stretch: float | None = None
) -> Frame:
    """The smallest frame that contains the positions (n, 2).

    stretch: the length of a vertical unit in horizontal ones; the frame is then widened or
    heightened until it is true to scale.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    if stretch is not None and (high > low).all():
        room = np.array([width, height]) - 2 * margin
        per_pixel = (high - low) * [1.0, stretch] / room
        missing = (per_pixel.max() / per_pixel - 1) * (high - low)
        low, high = low - missing / 2, high + missing / 2
    return Frame(low, high, width, height, margin)


def dots(
    pixels: Numbers,
    colour: str,
    radius: float,
    shape: int = 0,
    *,
    opacity: float | None = None,
    cluster: int | None = None,
    kind: str | None = None,
) -> Html:
    """One marker for each position (n, 2) in pixels, all in one path.

    A circle is a line of zero length with round caps, which takes a third of the bytes of an arc.
    """
    outline = _outline(shape, radius) if shape else "h0"
    marks = "".join(f"M{x:.1f} {y:.1f}{outline}" for x, y in pixels)
    paint: dict[str, object] = {"fill": colour}
    if not shape:
        width = f"{2 * radius:.1f}"
        paint = {"stroke": colour, "stroke_width": width, "stroke_linecap": "round"}
    strength = None if opacity is None else f"{opacity:.2f}"
    return element("path", d=marks, **paint, opacity=strength, data_cluster=cluster, class_=kind)


def sureness(confidence: Numbers, n_clusters: int) -> NDArray[np.intp]:
    """Confidence (n,) in levels 0..LEVELS-1, from chance to certainty."""
    guess = 1 / n_clusters if n_clusters > 1 else 0.0
    share = np.clip((confidence - guess) / (1 - guess), 0, 1)
    return np.minimum((share * LEVELS).astype(np.intp), LEVELS - 1)


def cluster_dots(
    pixels: Numbers, labels: NDArray[np.intp], levels: NDArray[np.intp], radius: float
) -> list[Html]:
    """Dots (n, 2) with the markers of their clusters, more opaque for higher levels.

    Noise has a constant opacity.
    """
    paths = []
    for cluster in np.unique(labels):
        for level in range(LEVELS):
            chosen = (labels == cluster) & (levels == level)
            if chosen.any():
                paths.append(
                    dots(
                        pixels[chosen],
                        colour_of(cluster),
                        radius,
                        shape_of(cluster),
                        opacity=0.5 if cluster < 0 else 0.2 + 0.7 * level / (LEVELS - 1),
                        cluster=cluster,
                    )
                )
    return paths


def marker(cluster: int, size: int = 14) -> Html:
    """The marker of a cluster, for legends and headings."""
    middle = np.full((1, 2), size / 2)
    mark = dots(middle, colour_of(cluster), 0.4 * size, shape_of(cluster))
    return picture(size, size, mark, class_="marker", aria_hidden="true")


def picture(width: int, height: int, *children: Html, **attributes: str) -> Html:
    """A drawing that scales with the page."""
    return element("svg", *children, viewBox=f"0 0 {width} {height}", **attributes)


def distribution(inside: Numbers, rest: Numbers, cluster: int, numeral: Numeral) -> Html:
    """Histograms of a cluster's values, in its colour, and of the others, in grey."""
    width, height, base = 240, 76, 56
    both = np.concatenate([inside, rest])
    low, high = np.quantile(both, [0.005, 0.995])
    if high <= low:
        low, high = both.min(), both.max()
        if high == low:
            high = low + max(1.0, 1e-3 * abs(low))
    edges = np.linspace(low, high, N_BINS + 1)
    if numeral.whole:  # each bin holds equally many whole numbers
        step = np.ceil((high - low + 1) / N_BINS)
        edges = np.arange(np.floor(low) - 0.5, np.ceil(high) + step, step)
        low, high = edges[[0, -1]]

    def area(values: Numbers) -> str:
        counts, _ = np.histogram(np.clip(values, low, high), edges)
        heights = base - (base - 6) * counts / max(1, counts.max())
        x = np.linspace(1, width - 1, len(edges))
        steps = [f"V{top:.1f}H{right:.1f}" for top, right in zip(heights, x[1:], strict=True)]
        return f"M{x[0]:.1f} {base}{''.join(steps)}V{base}Z"

    colour = colour_of(cluster)
    marks = ticks(float(low), float(high), 3)
    written = tick_numeral(marks, numeral)
    places = [1 + (width - 2) * (mark - low) / (high - low) for mark in marks]
    return picture(
        width,
        height,
        element("path", d=area(rest), fill=TAKEN, class_="others"),
        element(
            "path",
            d=area(inside),
            fill=colour,
            fill_opacity="0.45",
            stroke=colour,
            stroke_width=1.5,
        ),
        element("line", x1=0, x2=width, y1=base, y2=base, stroke=FAINT, stroke_width=0.75),
        *(
            _word(x, base + 16, written(mark), _anchor(x, width), "tick")
            for x, mark in zip(places, marks, strict=True)
        ),
        class_="distribution",
        role="img",
        aria_label="values in the cluster against values elsewhere",
    )


def share_bars(inside: float, elsewhere: float, cluster: int) -> Html:
    """The share of a category among a cluster's rows, in its colour, and elsewhere, in grey."""
    width, height, full = 240, 76, 190
    parts = []
    for y, share, colour, kind in (
        (8, inside, colour_of(cluster), None),
        (40, elsewhere, TAKEN, "others"),
    ):
        long = f"{max(1.0, full * share):.1f}"
        parts += [
            element("rect", x=0, y=y, width=long, height=22, fill=colour, class_=kind),
            _word(full * share + 6, y + 16, percent(share), "start", "tick"),
        ]
    parts.append(element("line", x1=0, x2=0, y1=4, y2=66, stroke=FAINT, stroke_width=0.75))
    words = "share in the cluster against elsewhere"
    return picture(width, height, *parts, class_="distribution", role="img", aria_label=words)


def belief_bars(numbers: Sequence[int], shares: Sequence[float], found: int) -> Html:
    """A bar for the probability of each number of clusters, the found one in colour."""
    height, base, step = 108, 86, 36
    width = max(240, step * len(numbers))
    parts = []
    for i, (number, share) in enumerate(zip(numbers, shares, strict=True)):
        tall = max(1.0, (base - 22) * share / max(shares))
        x = i * step + step / 2
        bar = {"x": f"{x - 11:.1f}", "y": f"{base - tall:.1f}", "height": f"{tall:.1f}"}
        kind = "bar found" if number == found else "bar"
        parts += [
            element("rect", **bar, width=22, class_=kind),
            _word(x, base - tall - 6, percent(share).removesuffix("%"), "middle", "count"),
            _word(x, base + 16, str(number), "middle", "tick"),
        ]
    parts.append(element("line", x1=0, x2=width, y1=base, y2=base, stroke=FAINT))
    words = "probability of each number of clusters, in percent"
    return picture(width, height, *parts, class_="bars", role="img", aria_label=words)


def histogram(confidence: Numbers) -> Html:
    """A histogram of the confidence, with counts above the bars."""
    width, height, base = 720, 190, 160
    lowest = min(0.5, np.floor(20 * confidence.min()) / 20)
    edges = np.round(np.arange(lowest, 1.0001, 0.05), 2)
    counts, _ = np.histogram(np.clip(confidence, edges[0], 1), edges)
    step = width / len(counts)
    parts = []
    for i, count in enumerate(counts):
        tall = (base - 24) * count / counts.max()
        x = i * step
        parts.append(
            element(
                "rect",
                x=f"{x + 1:.1f}",
                y=f"{base - max(tall, 1.0 if count else 0):.1f}",
                width=f"{step - 2:.1f}",
                height=f"{max(tall, 1.0 if count else 0):.1f}",
                class_="bar",
            )
        )
        if count:
            parts.append(_word(x + step / 2, base - tall - 6, f"{count:,}", "middle", "count"))
    for i, edge in enumerate(edges):
        if i % 2 == (len(edges) - 1) % 2:
            anchor = "start" if i == 0 else "end" if i == len(edges) - 1 else "middle"
            parts.append(_word(i * step, base + 18, f"{edge:.2f}", anchor, "tick"))
    parts.append(element("line", x1=0, x2=width, y1=base, y2=base, stroke=FAINT))
    return picture(
        width, height, *parts, class_="histogram", role="img", aria_label="histogram of confidence"
    )


def _anchor(x: float, width: float) -> str:
    """How a word stands at x, so that it does not leave the drawing."""
    return "start" if x < 0.1 * width else "end" if x > 0.9 * width else "middle"


def _word(x: float, y: float, text: str, anchor: str, kind: str) -> Html:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def _outline(shape: int, radius: float) -> str:
    """A marker around the current point, with about the area of a circle of this radius."""
    if shape in (1, 4):
        side, rise = 1.25 * radius, (1 if shape == 1 else -1) * 2.1 * radius
        return f"m-{side:.1f} {rise / 2:.1f}h{2 * side:.1f}l-{side:.1f} {-rise:.1f}z"
    half = 0.9 * radius if shape == 2 else 1.25 * radius
    if shape == 2:
        return f"m-{half:.1f}-{half:.1f}h{2 * half:.1f}v{2 * half:.1f}h-{2 * half:.1f}z"
    if shape == 3:
        return f"m0-{half:.1f}l{half:.1f} {half:.1f}l-{half:.1f} {half:.1f}l-{half:.1f}-{half:.1f}z"
    arm, thick = 1.2 * radius, 0.8 * radius
    rest = arm - thick / 2
    return (
        f"m-{thick / 2:.1f}-{arm:.1f}h{thick:.1f}v{rest:.1f}h{rest:.1f}v{thick:.1f}h-{rest:.1f}"
        f"v{rest:.1f}h-{thick:.1f}v-{rest:.1f}h-{rest:.1f}v-{thick:.1f}h{rest:.1f}z"
    )
