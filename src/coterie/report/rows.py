"""Some rows of the table, in numbers or as images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.report.content import Content
from coterie.report.markup import Html, element, shortened
from coterie.report.sentences import spoken

MAX_DETAILS = 2


def rows_table(
    content: Content,
    rows: NDArray[np.intp],
    first: Sequence[tuple[str, list[Any]]],
    order: Sequence[int],
    *,
    width: int,
) -> Html:
    """A table of rows: row number, first columns, details, then values, width columns in all.

    Rows that are images have the image instead of the values.
    """
    columns: list[tuple[str, list[Any]]] = [
        ("row", [f"{n:,}" for n in content.numbers[rows]]),
        *first,
    ]
    columns += [
        (name, [shortened(content.detail(name, int(row))) for row in rows])
        for name in list(content.details)[:MAX_DETAILS]
    ]
    if content.pictures:
        columns.insert(1, ("image", [_image(content, int(row)) for row in rows]))
    else:
        columns += [
            (
                spoken(content.names[j], content.numerals[j]),
                [content.numerals[j](value) for value in content.points[rows, j]],
            )
            for j in order[: max(1, width - len(columns))]
        ]
    head = [element("th", shortened(name), scope="col") for name, _ in columns]
    body = [
        element("tr", *(element("td", cell) for cell in cells))
        for cells in zip(*(cells for _, cells in columns), strict=True)
    ]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", table, class_="scroll")


def picture_strip(content: Content, rows: NDArray[np.intp]) -> Html:
    """The images of some rows, each with its confidence."""
    figures = [
        element(
            "figure",
            _image(content, row),
            element("figcaption", f"{content.confidence[row]:.2f}"),
        )
        for row in rows.tolist()
    ]
    return element("div", *figures, class_="pictures")


def _image(content: Content, row: int) -> Html | None:
    source = content.pictures.get(row)
    if source is None:
        return None
    # Not lazy: the image is in the page already, and would be missing in print and in pictures.
    return element("img", src=source, alt=f"row {content.numbers[row]:,}")
