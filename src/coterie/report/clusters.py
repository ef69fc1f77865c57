"""What distinguishes each cluster, and its most typical rows."""

import numpy as np
from numpy.typing import NDArray

from coterie.report.content import Content
from coterie.report.drawings import distribution, marker, share_bars
from coterie.report.markup import Html, element, join, shortened
from coterie.report.naming import name_of
from coterie.report.numerals import percent
from coterie.report.profile import Difference, Profile
from coterie.report.rows import picture_strip, rows_table
from coterie.report.sentences import spoken

MAX_CARDS = 40
MAX_VALUES = 20_000


def clusters_section(content: Content) -> Html:
    """What distinguishes each cluster."""
    cards = [_card(content, profile) for profile in content.profiles[:MAX_CARDS]]
    left = len(content.profiles) - len(cards)
    words = (
        "For each cluster, the columns in which its rows differ most from others: its values"
        " in colour, those of the others in grey, each scaled to its own height. “3 times"
        " apart” means that other rows lie three times as far from its median as its own do."
    )
    if content.pictures:
        words = "For each cluster, its most typical images, and the least certain ones."
    alone = content.clustering.n_clusters == 1
    return element(
        "section",
        element("h2", "The cluster" if alone else "What distinguishes each cluster"),
        None if alone else element("p", words, class_="lead"),
        *cards,
        element("p", f"{left} smaller clusters are not shown.", class_="lead") if left else None,
    )


def _card(content: Content, profile: Profile) -> Html:
    cluster = profile.cluster
    size = int(content.sizes[cluster])
    member = content.clustering.labels == cluster
    head = element(
        "h3",
        marker(cluster, 18),
        name_of(cluster),
        element(
            "small",
            f"{size:,} {'row' if size == 1 else 'rows'}, {size / content.total:.1%},"
            f" mean confidence {content.confidence[member].mean():.3f}",
        ),
    )
    body = _images(content, profile) if content.pictures else _columns(content, profile)
    return element("article", head, body)


def _columns(content: Content, profile: Profile) -> Html:
    """The columns that differ most beside the most typical rows."""
    pictures = [_difference(content, profile.cluster, each) for each in profile.differences]
    if not pictures:
        alone = content.clustering.n_clusters == 1
        words = "It is the only cluster." if alone else "No single column distinguishes it."
        pictures = [element("p", words, class_="lead")]
    telling = [each.column for each in profile.differences] or range(len(content.names))
    typical = element(
        "div",
        element("h4", "Most typical rows"),
        rows_table(content, profile.typical, [], telling, width=5),
    )
    return element("div", element("div", *pictures, class_="differences"), typical, class_="halves")


def _images(content: Content, profile: Profile) -> Html:
    doubtful = content.doubtful[profile.cluster]
    parts = [element("h4", "Most typical"), picture_strip(content, profile.typical)]
    if len(doubtful):
        parts += [element("h4", "Least certain"), picture_strip(content, doubtful)]
    return join(*parts)


def _difference(content: Content, cluster: int, each: Difference) -> Html:
    values, numeral = content.points[:, each.column], content.numerals[each.column]
    member = content.clustering.labels == cluster
    name = element("b", shortened(spoken(content.names[each.column], numeral)))
    if numeral.share:
        drawing = share_bars(each.inside, each.elsewhere, cluster)
        words = [f"{percent(each.inside)} of its rows, elsewhere {percent(each.elsewhere)}"]
    else:
        drawing = distribution(
            _thinned(values[member]), _thinned(values[~member]), cluster, numeral
        )
        medians = f"median {numeral(each.inside)}, elsewhere {numeral(each.elsewhere)}"
        words = [medians, element("br"), f"{_times(each.score)} apart"]
    return element("figure", drawing, element("figcaption", name, element("br"), *words))


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[:: max(1, len(values) // MAX_VALUES)]


def _times(score: float) -> str:
    return "over 20 times" if score > 20 else f"{score:.1f} times"
