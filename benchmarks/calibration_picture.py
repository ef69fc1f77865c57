"""Draw docs/images/reliability.png from benchmarks/results/calibration.json: sure, and right?"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bench.axes import tidy
from coterie.palette import INK, TAKEN, colour_of, shape_of

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/calibration.json"
PICTURE = ROOT / "docs/images/reliability.png"
ALL = "all"
STYLES = ("solid", "dotted")  # of families that share a colour
FEWEST = 100  # points of a bin: the share of fewer is chance

Bins = Sequence[Mapping[str, float]]


def plot_reliability(families: Mapping[str, Bins]) -> Figure:
    """The share of right points against their confidence, a line for each family and one for all.

    Bins, of up_to, points, confidence and right, that hold fewer than FEWEST points are left out.
    """
    figure = Figure(figsize=(5.6, 4.2), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=TAKEN, linewidth=1, linestyle="dashed")
    for number, (name, bins) in enumerate(families.items()):
        enough = [each for each in bins if each["points"] >= FEWEST]
        axes.plot(
            [each["confidence"] for each in enough],
            [each["right"] for each in enough],
            color=INK if name == ALL else colour_of(number),
            linewidth=2.4 if name == ALL else 1.2,
            linestyle=STYLES[0 if name == ALL else shape_of(number) % len(STYLES)],
            marker=".",
            label=name,
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    tidy(axes)
    axes.set_xlabel("confidence", color=INK, fontsize=9)
    axes.set_ylabel("share right", color=INK, fontsize=9)
    figure.legend(loc="outside right upper", frameon=False, labelcolor=INK, fontsize=8.5)
    return figure


def main(results: Path = RESULTS, picture: Path = PICTURE) -> None:
    """Draw the picture of the first model, or leave with a word where there are no results."""
    if not results.is_file():
        raise SystemExit(f"{results} is not there: run python benchmarks calibration")
    families = next(iter(json.loads(results.read_text())["models"].values()))
    picture.parent.mkdir(parents=True, exist_ok=True)
    bins = {family: found["bins"] for family, found in families.items()}
    plot_reliability(bins).savefig(picture)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
