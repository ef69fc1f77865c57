"""`--n-clusters`: a number, or a range of them."""

from typing import Annotated

import typer

from coterie.cli.refusal import refuse

NClusters = Annotated[
    str | None,
    typer.Option(
        metavar="K|LOW:HIGH",
        help="How many clusters, as in 5, or between how many, as in 2:8. Default: find out.",
        show_default=False,
    ),
]


def parse_n_clusters(text: str | None) -> int | tuple[int, int] | None:
    """5 -> 5, 2:8 -> (2, 8)."""
    if text is None:
        return None
    parts = text.split(":")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        refuse(f"--n-clusters takes a number, as in 5, or a range, as in 2:8, not {text!r}")
    low, high = int(parts[0]), int(parts[-1])
    if low < 1 or high < low:
        refuse(f"--n-clusters {text}: there is no such number of clusters")
    return low if len(parts) == 1 else (low, high)
