"""`--n-clusters`: a number, or a range of them."""

import inspect
from typing import Annotated, Any

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


def asked_clusters(estimator: type, wanted: int | tuple[int, int] | None) -> dict[str, Any]:
    """The estimator's setting for a wanted number; a refusal where it cannot be told one."""
    if wanted is None:
        return {}
    if "n_clusters" not in inspect.signature(estimator).parameters:
        refuse(
            f"--n-clusters: {estimator.__name__} finds out by itself how many clusters there are"
        )
    return {"n_clusters": wanted}
