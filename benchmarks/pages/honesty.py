"""What the universal model says of itself on mixtures and moons."""

from typing import Any

from pages.cells import grid
from pages.results import results
from pages.where import where_run


def honesty(part: str = "") -> str:
    """The memberships and the belief in k against the truth; or the `rules` that were tried."""
    data = results("honesty")
    if part == "rules":
        return f"{rules(data)}\n\n{where_run(data)}\n"
    rows = []
    for part, found in data["memberships"].items():
        figures = [f"{found[name]:.2f}" for name in ("confidence", "right")]
        row = [part, f"{found['sets']}", *figures, f"{found['ece']:.3f}"]
        if part in data["belief"]:
            belief = data["belief"][part]
            row += [f"{belief[name]:.2f}" for name in ("top_belief", "top_right")]
        rows.append(row)
    header = ["", "sets", "mean confidence", "rows that are right", "ECE"]
    header += ["belief in the most probable k", "it is right"]
    return f"{grid(header, rows)}\n\n{where_run(data)}\n"


def rules(data: dict[str, Any]) -> str:
    """The ECE of the confidences, and what rules that know more would make of it."""
    today = {name: each["ece"] for name, each in data["memberships"].items()}
    rows = [
        [rule, *(f"{found[part]:.3f}" for part in ("all", "k right", "k wrong"))]
        for rule, found in {"as they are": today, **data["recalibrated"]}.items()
    ]
    return grid(["ECE of the confidences", "all", "k right", "k wrong"], rows)
