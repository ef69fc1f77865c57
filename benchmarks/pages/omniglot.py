"""Omniglot: every alphabet, and the means of all ways to cluster it."""

from typing import Any

from bench.omniglot_printed import MCL_K_ERRORS, PAPER_K_ERRORS
from pages.cells import grid
from pages.results import results


def omniglot(part: str = "means") -> str:
    """The means beside the printed ones, or the alphabets of the default."""
    data = results("omniglot")
    table = alphabets(data) if part == "alphabets" else means(data)
    machine = data["machine"]
    run = f"`{data['command']}`, weights `{data['weights']}`; {machine['cpu']}, {data['date'][:10]}"
    return f"{table}\n\n{run}.\n"


def means(data: dict[str, Any]) -> str:
    """A row for each way, then those of the papers."""
    rows = {name: way["mean"] for name, way in data["ways"].items()}
    rows |= data["printed"]
    return grid(
        ["20 alphabets, means", "NMI", "ACC", "k off by", "seconds"],
        [
            [
                name,
                *(
                    "" if key not in mean else f"{mean[key]:.{digits}f}"
                    for key, digits in (("nmi", 3), ("acc", 3), ("k_error", 1), ("seconds", 1))
                ),
            ]
            for name, mean in rows.items()
        ],
    )


def alphabets(data: dict[str, Any]) -> str:
    """A row for each alphabet, with the printed errors of k."""
    found = data["ways"]["default"]["alphabets"]
    printed = zip(PAPER_K_ERRORS, MCL_K_ERRORS, strict=True)
    return grid(
        ["alphabet", "characters", "NMI", "ACC", "k off by", "DAC, printed", "MCL, printed"],
        [
            [
                name.replace("_", " "),
                f"{each['characters']:.0f}",
                f"{each['nmi']:.3f}",
                f"{each['acc']:.3f}",
                f"{each['k_error']:.1f}",
                *map(str, both),
            ]
            for (name, each), both in zip(found.items(), printed, strict=True)
        ],
    )
