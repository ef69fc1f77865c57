"""What more training on tables did to the universal model."""

from typing import Any

from pages.cells import grid, with_error
from pages.results import results
from pages.where import where_run

# The parts of the comparison, in the order and with the words of the page.
PARTS = {
    "validation": "**validation tables**, none trained on",
    "validation, seen": "of these, recoverable",
    "validation, hardly seen": "of these, not recoverable",
    "train": "training tables",
    "train, seen": "of these, recoverable: **trained on**",
    "train, hardly seen": "of these, not recoverable: not trained on",
    "tables": "drawn tables",
    "tables, <= 16 columns": "of these, up to 16 columns",
    "tables, > 16 columns": "of these, more columns",
    "suite": "public sets",
    "suite, k <= 30": "of these, up to 30 clusters",
    "families": "families",
}


def before_after() -> str:
    """Both models on each part, with the paired change and how many sets gained and lost."""
    data = results("before_after")
    names = list(next(iter(data["parts"].values()))["models"])
    header = ["", "sets", *names, "change", "gained, lost", "largest loss"]
    header += ["k exact", "one cluster found"]
    rows = [[title, *cells(data["parts"][part])] for part, title in PARTS.items()]
    return f"{grid(header, rows)}\n\n{where_run(data)}\n"


def cells(part: dict[str, Any]) -> list[str]:
    """The number of sets and what the models have, before and after."""
    before, after = part["models"].values()
    shares = [f"{before[name]:.0%}, {after[name]:.0%}" for name in ("k_exact", "one_cluster")]
    change, error = after["change"]["mean"], after["change"]["standard_error"]
    return [
        f"{part['sets']}",
        with_error(before["ari"]),
        with_error(after["ari"]),
        f"{change:+.3f} ± {error:.3f}",
        f"{after['gained']}, {after['lost']}",
        f"{after['largest_loss']:.2f}",
        *shares,
    ]
