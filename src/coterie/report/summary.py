"""The first screen: each cluster in one sentence, and how far to believe the result."""

from coterie.inference.result import NOISE
from coterie.report.content import Content
from coterie.report.drawings import belief_bars, marker
from coterie.report.markup import Html, element, join
from coterie.report.naming import name_of
from coterie.report.numerals import percent
from coterie.report.sentences import sentence
from coterie.report.trust import drawn_numbers, trust_remarks

MAX_TOLD = 40
MANY = 8


def summary_section(content: Content) -> Html:
    """The clusters in words beside the belief in their number."""
    items = [_item(content, cluster) for cluster in range(min(len(content.sizes), MAX_TOLD))]
    left = len(content.sizes) - len(items)
    if left:
        items.append(element("li", f"{left} smaller clusters are not listed."))
    if content.n_noise:
        share = percent(content.n_noise / content.total)
        words = f" ({share} of rows): outliers that fit no cluster"
        items.append(element("li", marker(NOISE, 18), element("b", "Noise"), words))
    hint = element(
        "p",
        "Click a name to change it; the downloaded page keeps it.",
        class_="lead hint",
    )
    listed, belief = element("ul", *items, class_="told"), _belief(content)
    kept = [hint, _downloads(content)]
    if len(items) > MANY:  # in two columns of the full width
        kind, beside = (
            "summary many",
            element("div", element("div", *kept), belief, class_="beside"),
        )
        return element("section", listed, beside, class_=kind)
    told = element("div", listed, *kept)
    beside = element("div", told, belief, class_="beside") if belief else told
    return element("section", beside, class_="summary")


def _item(content: Content, cluster: int) -> Html:
    share = percent(int(content.sizes[cluster]) / content.total)
    between = " of rows): "
    shown = [content.pictures[row] for row in _typical(content, cluster)]
    if shown:
        strip = [element("img", src=source, alt="") for source in shown]
        words = element("span", *strip, class_="strip")
        between = " of images)"
    else:
        profile = content.profiles[cluster] if cluster < len(content.profiles) else None
        words = element(
            "span",
            sentence(
                profile.traits if profile else (),
                content.names,
                content.numerals,
                alone=content.clustering.n_clusters == 1,
            ),
        )
    return element(
        "li",
        marker(cluster, 18),
        element("b", name_of(cluster)),
        f" ({share}{between}",
        words,
        data_cluster=cluster,
    )


def _typical(content: Content, cluster: int) -> list[int]:
    if cluster >= len(content.profiles):
        return []
    rows = content.profiles[cluster].typical.tolist()
    return [row for row in rows if row in content.pictures]


def _belief(content: Content) -> Html | None:
    """The belief in the number of clusters, as bars and words; None if nothing is known of it."""
    trust, k = content.trust, content.clustering.n_clusters
    parts = []
    if trust.k_probabilities is not None:
        numbers = drawn_numbers(trust.k_probabilities, k)
        belief = dict(enumerate(trust.k_probabilities.tolist()))
        bars = belief_bars(numbers, [belief.get(number, 0.0) for number in numbers], k)
        parts = [element("h4", "How many clusters? (%)"), bars]
    for remark in trust_remarks(trust, k):
        asked = None
        if remark.n_clusters is not None:
            asked = join(" ", element("code", content.origin.option.format(remark.n_clusters)))
        parts.append(element("p", remark.words, asked))
    return element("div", *parts, class_="belief") if parts else None


def _downloads(content: Content) -> Html:
    n_shown, n_rows = len(content.shown), content.origin.n_rows or len(content.points)
    rows = f"{n_shown:,} of {n_rows:,} rows" if n_shown < n_rows else "the rows"
    kinds = (("page", "this page"), ("clusters", "the clusters (CSV)"), ("rows", f"{rows} (CSV)"))
    buttons = [element("button", words, type="button", data_download=kind) for kind, words in kinds]
    return element("p", "Download ", *buttons, class_="downloads")
