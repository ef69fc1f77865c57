"""What distinguishes each cluster, its most typical rows, and the least certain rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE
from coterie.report.content import Content
from coterie.report.drawings import distribution, histogram, marker
from coterie.report.markup import Html, element, join, shortened
from coterie.report.profile import Difference, Profile

MAX_CARDS = 40
MAX_VALUES = 20_000
MAX_DETAILS = 2


def clusters_section(content: Content) -> Html:
    """What distinguishes each cluster."""
    cards = [_card(content, profile) for profile in content.profiles[:MAX_CARDS]]
    left = len(content.profiles) - len(cards)
    return element(
        "section",
        element("h2", "What distinguishes each cluster"),
        element(
            "p",
            "For each cluster, the columns in which its rows differ most from others: its values"
            " in colour, those of the others in grey, each scaled to its own height. “3 times"
            " apart” means that other rows lie three times as far from its median as its own do.",
            class_="lead",
        ),
        *cards,
        element("p", f"{left} smaller clusters are not shown.", class_="lead") if left else None,
    )


def certainty_section(content: Content) -> Html:
    """The distribution of the confidence, and the least certain rows."""
    probabilities = content.clustering.probabilities
    k = content.clustering.n_clusters
    rows = content.uncertain
    confidence = content.confidence[content.clustering.labels != NOISE]
    unsure = float((confidence < 0.9).mean())
    noise = f" {content.n_noise:,} rows are noise, without a cluster." if content.n_noise else ""
    first: list[tuple[str, list]] = [
        ("confidence", [f"{value:.3f}" for value in content.confidence[rows]]),
        ("cluster", [join(marker(c), c) for c in content.clustering.labels[rows].tolist()]),
    ]
    if k > 1:
        second = np.argsort(-probabilities[rows], axis=1)[:, 1].tolist()
        first.append(("second choice", [join(marker(c), c) for c in second]))
    return element(
        "section",
        element("h2", "Confidence"),
        element(
            "p",
            f"Confidence is the probability of a row's own cluster. It is below 0.9 for"
            f" {unsure:.1%} of the rows.{noise}",
            class_="lead",
        ),
        histogram(confidence),
        element("h3", "Least certain rows"),
        _rows_table(content, rows, first, range(len(content.names)), width=8),
    )


def _card(content: Content, profile: Profile) -> Html:
    cluster = profile.cluster
    size = int(content.sizes[cluster])
    member = content.clustering.labels == cluster
    head = element(
        "h3",
        marker(cluster, 18),
        f"Cluster {cluster}",
        element(
            "small",
            f"{size:,} {'row' if size == 1 else 'rows'}, {size / content.total:.1%},"
            f" mean confidence {content.confidence[member].mean():.3f}",
        ),
    )
    pictures = [_difference(content, cluster, each) for each in profile.differences]
    if not pictures:
        alone = content.clustering.n_clusters == 1
        words = "It is the only cluster." if alone else "No single column distinguishes it."
        pictures = [element("p", words, class_="lead")]
    telling = [each.column for each in profile.differences] or range(len(content.names))
    typical = element(
        "div",
        element("h4", "Most typical rows"),
        _rows_table(content, profile.typical, [], telling, width=5),
    )
    return element(
        "article",
        head,
        element("div", element("div", *pictures, class_="differences"), typical, class_="halves"),
    )


def _difference(content: Content, cluster: int, each: Difference) -> Html:
    values = content.points[:, each.column]
    member = content.clustering.labels == cluster
    return element(
        "figure",
        distribution(_thinned(values[member]), _thinned(values[~member]), cluster),
        element(
            "figcaption",
            element("b", shortened(content.names[each.column])),
            element("br"),
            f"median {each.inside:.3g}, elsewhere {each.elsewhere:.3g}",
            element("br"),
            f"{_times(each.score)} apart",
        ),
    )


def _rows_table(
    content: Content,
    rows: NDArray[np.intp],
    first: Sequence[tuple[str, list]],
    order: Sequence[int],
    *,
    width: int,
) -> Html:
    """A table of rows: row number, first columns, details, then values, width columns in all."""
    columns: list[tuple[str, list]] = [("row", [f"{n:,}" for n in content.numbers[rows]]), *first]
    columns += [
        (name, [shortened(content.detail(name, int(row))) for row in rows])
        for name in list(content.details)[:MAX_DETAILS]
    ]
    columns += [
        (content.names[j], [f"{value:.4g}" for value in content.points[rows, j]])
        for j in order[: max(1, width - len(columns))]
    ]
    head = [element("th", shortened(name), scope="col") for name, _ in columns]
    body = [
        element("tr", *(element("td", cell) for cell in cells))
        for cells in zip(*(cells for _, cells in columns), strict=True)
    ]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", table, class_="scroll")


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[:: max(1, len(values) // MAX_VALUES)]


def _times(score: float) -> str:
    return "over 20 times" if score > 20 else f"{score:.1f} times"
