"""The distribution of the confidence, and the least certain rows."""

from typing import Any

import numpy as np

from coterie.inference.result import NOISE
from coterie.report.content import Content
from coterie.report.drawings import histogram, marker
from coterie.report.markup import Html, element, join
from coterie.report.naming import name_of
from coterie.report.rows import rows_table


def certainty_section(content: Content) -> Html:
    """How sure the clusters are of their rows; with a single cluster there is no doubt to show."""
    inside = content.clustering.labels != NOISE
    noise = f" {content.n_noise:,} rows are noise, without a cluster." if content.n_noise else ""
    parts: list[Html] = []
    if content.clustering.n_clusters == 1:
        words = f"There is one cluster, so no row could belong to another.{noise}"
    else:
        unsure = float((content.confidence[inside] < 0.9).mean())
        words = (
            "Confidence is the probability of a row's own cluster. It is below 0.9 for"
            f" {unsure:.1%} of the rows.{noise}"
        )
        parts = [histogram(content.confidence[inside]), _uncertain(content)]
    return element(
        "section", element("h2", "Confidence"), element("p", words, class_="lead"), *parts
    )


def _uncertain(content: Content) -> Html:
    """The least certain rows with their second choice, or that there are none."""
    rows = content.uncertain
    if not len(rows):
        return element("p", "No row is uncertain: all have a confidence of 1.000.", class_="lead")
    second = np.argsort(-content.clustering.probabilities[rows], axis=1)[:, 1]
    first: list[tuple[str, list[Any]]] = [
        ("confidence", [f"{value:.3f}" for value in content.confidence[rows]]),
        ("cluster", [_called(c) for c in content.clustering.labels[rows].tolist()]),
        ("second choice", [_called(c) for c in second.tolist()]),
    ]
    return join(
        element("h3", "Least certain rows"),
        rows_table(content, rows, first, range(len(content.names)), width=8),
    )


def _called(cluster: int) -> Html:
    return join(marker(cluster), name_of(cluster, brief=True))
