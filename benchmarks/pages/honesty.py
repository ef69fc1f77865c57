"""What the universal model says of itself on mixtures and moons."""

from pages.cells import grid
from pages.results import results
from pages.where import where_run


def honesty() -> str:
    """The memberships and the belief in k against the truth, for parts of the sets."""
    data = results("honesty")
    rows = []
    for part, found in data["memberships"].items():
        figures = [f"{found[name]:.2f}" for name in ("confidence", "right")]
        row = [part, f"{found['sets']}", *figures, f"{found['ece']:.3f}"]
        if part in data["belief"]:
            belief = data["belief"][part]
            row += [f"{belief[name]:.2f}" for name in ("top_belief", "top_right")]
        rows.append(row)
    header = ["", "sets", "mean confidence", "rows correct", "ECE"]
    header += ["probability of the most probable k", "k correct"]
    return f"{grid(header, rows)}\n\n{where_run(data)}\n"
