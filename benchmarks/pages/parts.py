"""What each part of the default is worth on real tables."""

from pages.cells import grid, with_error
from pages.results import results
from pages.where import where_run


def parts() -> str:
    """The mean ARI with one part less, and how far that is behind the default."""
    data = results("parts")
    first, *_ = data["parts"]
    rows = [
        [name, with_error(row["ari"]), "" if name == first else with_error(row["behind"])]
        for name, row in data["parts"].items()
    ]
    described = sum(row["described"] for row in data["tables"].values())
    return (
        f"{grid(['', 'mean ARI', 'loss'], rows)}\n\n{len(data['tables'])} validation tables,"
        f" {described} of them fitted by a mixture. {where_run(data)}\n"
    )
