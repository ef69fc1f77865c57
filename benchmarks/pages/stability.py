"""How answers change with the seed."""

from pages.cells import grid
from pages.results import results
from pages.where import where_run


def stability() -> str:
    """The agreement of several seeds, set by set, and its mean."""
    data = results("stability")
    keys = ("pairs", "truth", "stability")
    rows = [
        [
            name,
            ", ".join(map(str, row["k"])),
            f"{row['same_k']:.0%}",
            *(f"{row[key]:.2f}" for key in keys),
        ]
        for name, row in data["sets"].items()
    ]
    means = data["means"]
    rows.append(["mean", "", f"{means['same_k']:.0%}", *(f"{means[key]:.2f}" for key in keys)])
    header = ["", f"k for {data['seeds']} seeds", "pairs with the same k", "ARI between seeds"]
    header += ["ARI with the true labels", "`stability_`"]
    return f"{grid(header, rows)}\n\n{where_run(data)}\n"
