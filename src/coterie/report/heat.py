"""A heat map of the clusters' medians, in the columns that tell most."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from coterie.inference.result import NOISE
from coterie.report.content import Content
from coterie.report.drawings import marker
from coterie.report.markup import Html, element, join, shortened
from coterie.report.naming import name_of
from coterie.report.numerals import percent
from coterie.report.plane import Numbers, spread
from coterie.report.sentences import spoken

MAX_COLUMNS = 20
MAX_NARROW_COLUMNS = 16  # where they stand side by side
MAX_CLUSTERS = 40
MAX_ACROSS = 10  # with more clusters, these are the lines of the table
FARTHEST = 2.0  # spreads from the middle of the clusters: the strongest colour


class Heat(NamedTuple):
    """Medians or shares (k, d) of the clusters, and how far they are from the middle of these.

    columns: their numbers (d,), in the order in which they are shown; far: in units of the spread
    within and between the clusters (k, d).
    """

    columns: NDArray[np.intp]
    medians: Numbers
    far: Numbers


def heat_section(content: Content) -> Html | None:
    """The medians of all clusters; None if there is nothing to compare, or nothing to read."""
    if content.clustering.n_clusters < 2 or content.pictures:
        return None
    shares = np.array([numeral.share for numeral in content.numerals])
    most = MAX_COLUMNS if content.clustering.n_clusters <= MAX_ACROSS else MAX_NARROW_COLUMNS
    rows = content.profiled
    heat = heat_of(
        content.points[rows], content.clustering.labels[rows], content.medians, shares, most
    )
    left = len(content.names) - len(heat.columns)
    words = (
        "The median of each column in each cluster; for categories, the share of rows. Orange is"
        " above the middle of the clusters and blue below, stronger where the column separates them"
        " well. Columns with similar patterns are adjacent."
    )
    if left:
        shown = len(heat.columns)
        words += (
            f" Of {left + shown} columns, the {shown} that separate the clusters best are shown."
        )
    return element(
        "section",
        element("h2", "The clusters side by side"),
        element("p", words, class_="lead"),
        element("div", _table(content, heat), class_="scroll"),
        class_="side",
    )


def heat_of(
    points: Numbers,
    labels: NDArray[np.intp],
    medians: Numbers,
    shares: NDArray[np.bool_],
    most: int = MAX_COLUMNS,
) -> Heat:
    """The heat map of points (n, d) with labels (n,) and medians (k, d), in most telling columns.

    shares: which columns are indicators of categories (d,). A column tells much if most of its
    spread is between the medians of the clusters rather than within the clusters.
    """
    inside = labels != NOISE
    points, labels = points[inside], labels[inside]
    clusters = np.unique(labels)
    # The middle of the clusters, not of the rows, which may all but lie within one of them.
    off = medians - medians[clusters].mean(axis=0)
    between = np.sqrt((off[clusters] ** 2).mean(axis=0))
    binary = np.sqrt((medians * (1 - medians))[clusters].clip(0).mean(axis=0))
    within = np.where(shares, binary, spread(points - medians[labels]))
    units = np.sqrt(within**2 + between**2)
    far = off / np.where(units > 0, units, 1.0)
    telling = between / np.where(units > 0, units, 1.0)
    kept = np.sort(np.argsort(-telling, kind="stable")[:most])
    order = kept[_by_pattern(far[:, kept], telling[kept])]
    return Heat(order, medians[:, order], far[:, order])


def _by_pattern(far: Numbers, telling: Numbers) -> NDArray[np.intp]:
    """An order of the columns of (k, d) that has similar ones beside each other, telling first."""
    if far.shape[1] < 3:
        return np.argsort(-telling, kind="stable")
    tree = linkage(np.clip(far.T, -FARTHEST, FARTHEST), "average", optimal_ordering=True)
    order: NDArray[np.intp] = leaves_list(tree).astype(np.intp)
    half = len(order) // 2
    backwards = telling[order[-half:]].sum() > telling[order[:half]].sum()
    return order[::-1] if backwards else order


def _table(content: Content, heat: Heat) -> Html:
    clusters = list(range(min(len(heat.medians), MAX_CLUSTERS)))
    cells = [
        [_cell(content, heat, cluster, at) for cluster in clusters]
        for at in range(len(heat.columns))
    ]
    columns = [element("span", _called(content, int(j))) for j in heat.columns]
    heads = [join(marker(cluster), name_of(cluster)) for cluster in clusters]
    lying = len(clusters) > MAX_ACROSS
    above, beside = (columns, heads) if lying else (heads, columns)
    lines = [list(line) for line in zip(*cells, strict=True)] if lying else cells
    body = [
        element("tr", element("th", first, scope="row"), *line)
        for first, line in zip(beside, lines, strict=True)
    ]
    head = element("tr", element("td"), *(element("th", each, scope="col") for each in above))
    kind = "heat lying" if lying else "heat"
    return element("table", element("thead", head), element("tbody", *body), class_=kind)


def _called(content: Content, column: int) -> str:
    return shortened(spoken(content.names[column], content.numerals[column]))


def _cell(content: Content, heat: Heat, cluster: int, at: int) -> Html:
    column = int(heat.columns[at])
    numeral, value = content.numerals[column], float(heat.medians[cluster, at])
    far = float(np.clip(heat.far[cluster, at] / FARTHEST, -1, 1))
    strength = f"--far:{abs(far):.2f}"
    return element(
        "td",
        percent(value) if numeral.share else numeral(value),
        class_="above" if far > 0 else "below",
        style=strength,
        data_value=f"{value:.7g}",
    )
