"""A note on clusters that are little more than combinations of categories.

An indicator weighs as much as a number, so customers of three countries may become three clusters
each, although nothing else tells them apart. That may be what the user wants to see, or not.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from coterie.frames.encoded_table import TableEncoding

PURE = 0.95  # of the rows of a cluster in one category
MOST = 0.5  # of all rows in such clusters


def category_notes(
    encoding: "TableEncoding", values: "NDArray[np.float64]", labels: "NDArray[np.intp]"
) -> tuple[str, ...]:
    """A note that names the columns whose categories divide most clusters of a table (n, d).

    labels (n,): -1 for noise. A column is not named where a category is a cluster, nor without
    columns of numbers that could say something else.
    """
    from coterie.frames.column_parts import Indicators, Omission
    from coterie.frames.protocol import NUMERIC

    n_clusters = int(labels.max()) + 1
    kept = labels >= 0
    named, at = [], 0
    for column, part in zip(encoding.columns, encoding.parts, strict=True):
        width = len(part.levels) if isinstance(part, Indicators) else 1
        if isinstance(part, Indicators) and 1 < width < n_clusters:
            indicators = values[kept, at : at + width] > 0
            if _divided(indicators, labels[kept]) >= MOST > _largest(indicators):
                named.append(column)
        at += 0 if isinstance(part, Omission) else width
    if not named or not (encoding.groups == NUMERIC).any():
        return ()
    return (
        f"most clusters have a single category of {', '.join(map(repr, named))}: to cluster by the"
        f" other columns alone, --exclude {','.join(named)}",
    )


def _divided(indicators: "NDArray[np.bool_]", labels: "NDArray[np.intp]") -> float:
    """The share of rows (n, L) in clusters that have nearly all their rows in one category."""
    rows = 0
    for cluster in range(int(labels.max()) + 1):
        own = indicators[labels == cluster]
        if len(own) and own.mean(0).max() >= PURE:
            rows += len(own)
    return rows / max(1, len(labels))


def _largest(indicators: "NDArray[np.bool_]") -> float:
    """The share of the largest category among rows (n, L)."""
    return float(indicators.mean(0).max()) if len(indicators) else 1.0
