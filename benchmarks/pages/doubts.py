"""What the universal model says of its own limits."""

from typing import Any

from pages.cells import grid
from pages.results import results
from pages.where import where_run


def doubts(part: str) -> str:
    """How often sets are called `strange`, or the `belief` in k against the truth."""
    data = results("doubts")
    written = {"strange": strange, "belief": belief}
    return f"{written[part](data[part])}\n\n{where_run(data)}\n"


def strange(rows: list[dict[str, Any]]) -> str:
    """Kinds of sets, and how many are called unlike anything in training."""
    cells = [[row["name"], f"{row['strange']} of {row['sets']:,}"] for row in rows]
    return grid(["", "flagged"], cells)


def belief(found: dict[str, float]) -> str:
    """The belief in the number found and in the true one."""
    rows = [
        ["k correct", f"{found['right']:.3f}"],
        ["mean probability of the k found", f"{found['believed']:.3f}"],
        ["true k among the most probable 80 %", f"{found['among_probable']:.3f}"],
        ["mean negative log-probability of the true k (nats)", f"{found['surprise']:.2f}"],
        [
            "k correct where its probability is above 0.8",
            f"{found['sure_and_right']:.0f} of {found['sure']:.0f}",
        ],
    ]
    return grid([f"{found['sets']:.0f} sets", ""], rows)
