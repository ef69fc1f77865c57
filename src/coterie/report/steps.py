"""How the clusters were found: one panel per step."""

import numpy as np
from numpy.typing import NDArray

from coterie.palette import TAKEN, colour_of, shape_of
from coterie.report.content import Content
from coterie.report.drawings import cluster_dots, dots, frame_of, picture, sureness
from coterie.report.markup import Html, element

WIDTH, HEIGHT = 220, 150
MAX_POINTS = 1500
MAX_PANELS = 11
RADIUS = 1.9
ON_OFFER = "#9AA3AE"


def steps_section(content: Content) -> Html:
    """The steps in order, and the outcome."""
    steps = content.clustering.steps
    drawn = _drawn(content)
    plane = content.plane
    frame = frame_of(plane.places, WIDTH, HEIGHT, 8, stretch=plane.stretch)
    pixels = frame(plane.places)[drawn]
    rows = content.shown[drawn]
    claims = [len(step.claimed) for step in steps]
    telling = set(np.argsort(claims, kind="stable")[::-1][:MAX_PANELS].tolist())
    figures = [
        _panel(content, number, pixels, rows) for number in range(len(steps)) if number in telling
    ]
    figures.append(_outcome(content, pixels, rows))
    words = (
        "The network finds one cluster after another. In each panel the points that join it are"
        " coloured, the remaining points are dark grey and those of earlier clusters light grey."
    )
    n_rows = content.origin.n_rows or len(content.points)
    if content.n_read < n_rows:
        words += (
            f" It reads {content.n_read:,} of the {n_rows:,} rows, a sample, and the counts below"
            " are of these; the remaining rows then join the cluster that fits them best."
        )
    if len(steps) > MAX_PANELS:
        words += f" The panels show the {MAX_PANELS} largest of {len(steps)} steps."
    if _was_revised(content):
        proposals = _count(len(steps), "proposal")
        clusters = _count(content.clustering.n_clusters, "cluster")
        if content.clustering.expected_agreement is None:
            words += f" The {proposals} became {clusters} by consolidation or constraints."
        else:
            words += (
                f" Its {proposals} competed with mixtures of Gaussians and other methods; the"
                f" answer has {clusters}."
            )
    return element(
        "section",
        element("h2", "How the clusters were found"),
        element("p", words, class_="lead"),
        element("div", *figures, class_="steps"),
    )


def _panel(
    content: Content, number: int, pixels: NDArray[np.float64], rows: NDArray[np.intp]
) -> Html:
    step = content.clustering.steps[number]
    fate = content.clustering.fate(step)
    joins = np.isin(rows, step.claimed)
    offered = np.isin(rows, step.offered)
    sure = step.probabilities[np.isin(step.offered, step.claimed)].mean()
    drawing = picture(
        WIDTH,
        HEIGHT,
        dots(pixels[~offered], TAKEN, 0.7 * RADIUS, kind="others"),
        dots(pixels[offered & ~joins], ON_OFFER, 0.8 * RADIUS),
        dots(pixels[joins], colour_of(fate), 1.2 * RADIUS, shape_of(fate)),
        role="img",
        aria_label=f"step {number + 1}",
    )
    words = f"takes {len(step.claimed):,} of {len(step.offered):,}, confidence {sure:.0%}"
    return _figure(drawing, f"Step {number + 1}", words)


def _outcome(content: Content, pixels: NDArray[np.float64], rows: NDArray[np.intp]) -> Html:
    labels = content.clustering.labels[rows]
    levels = sureness(content.confidence[rows], content.clustering.n_clusters)
    drawing = picture(
        WIDTH,
        HEIGHT,
        *cluster_dots(pixels, labels, levels, RADIUS),
        role="img",
        aria_label="the outcome",
    )
    return _figure(drawing, "Outcome", _count(content.clustering.n_clusters, "cluster"))


def _figure(drawing: Html, name: str, words: str) -> Html:
    return element(
        "figure", drawing, element("figcaption", element("b", name), element("br"), words)
    )


def _drawn(content: Content) -> NDArray[np.intp]:
    """Which points of the map are drawn here; if there are many, a random sample."""
    context = content.clustering.steps[0].offered
    inside = np.flatnonzero(np.isin(content.shown, context))
    if len(inside) <= MAX_POINTS:
        return inside
    return np.sort(np.random.default_rng(0).choice(inside, MAX_POINTS, replace=False))


def _was_revised(content: Content) -> bool:
    """Whether the number of clusters differs from the number of steps."""
    steps = content.clustering.steps
    return len(steps) != content.clustering.n_clusters


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
