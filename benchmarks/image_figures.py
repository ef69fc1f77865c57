"""Draw the figures of AMCP's appendix C.2 on images from benchmarks/results/image_studies.json.

    python benchmarks/image_figures.py

docs/images/image-curves.png: ACC of seen and unseen classes along the training, as Fig. 1 (c, d);
docs/images/image-studies.png: ACC, seconds of a set and minutes of training against the number of
EM steps, the E-step, the number of training classes and the method, as Fig. 3, 5, 6 and 7. What has
not been measured is left out.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bench.axes import tidy
from coterie.palette import INK, PALETTE, TAKEN
from pages.images import NAMES, STUDIES

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/image_studies.json"
CURVES, PICTURE = (ROOT / "docs/images" / f"image-{name}.png" for name in ("curves", "studies"))
SHOWN = {
    "acc": "ACC of unseen classes",
    "seconds": "seconds of a set",
    "minutes": "minutes of training",
}

Found = Mapping[str, Mapping[str, Mapping[str, Any]]]


def plot_curves(found: Mapping[str, Mapping[str, Any]]) -> Figure:
    """ACC against the steps of training, a line for each method, seen and unseen classes apart.

    found: rows of the study of methods on one data set, each with its curve.
    """
    figure = Figure(figsize=(8.4, 3.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, kind in zip(panels, ("seen", "unseen"), strict=True):
        for number, (method, row) in enumerate(found.items()):
            axes.plot(
                [point["step"] for point in row["curve"]],
                [point[kind] for point in row["curve"]],
                color=PALETTE[number % len(PALETTE)],
                linewidth=1.8,
                label=NAMES.get(method, method),
            )
        _titled(axes, f"ACC, {kind} classes")
    figure.supxlabel("training steps", color=INK, fontsize=9)
    handles = panels[0].get_lines()
    figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False, fontsize=8.5)
    return figure


def plot_studies(found: Found) -> Figure:
    """A row of panels for each study: its variants across, a line for each data set."""
    figure = Figure(figsize=(9, 2.5 * len(found)), dpi=150, layout="constrained")
    grid = figure.subplots(len(found), len(SHOWN), squeeze=False)
    for panels, (study, by_data) in zip(grid, found.items(), strict=True):
        for axes, (metric, title) in zip(panels, SHOWN.items(), strict=True):
            for number, (data, variants) in enumerate(by_data.items()):
                values = [_value(row, metric) for row in variants.values()]
                places = range(len(values))
                axes.plot(places, values, "o-", color=PALETTE[number], label=data)
                axes.set_xticks(list(places), list(variants), fontsize=7)
            axes.set_xlabel(STUDIES[study], color=INK, fontsize=8)
            _titled(axes, title)
        panels[0].legend(frameon=False, fontsize=7)
    return figure


def _value(row: Mapping[str, Any], metric: str) -> float:
    return float(row["training_seconds"] / 60 if metric == "minutes" else row[metric])


def _titled(axes: Any, title: str) -> None:
    tidy(axes)
    axes.grid(axis="y", color=TAKEN, linewidth=0.5, alpha=0.6)
    axes.set_title(title, loc="left", color=INK, fontsize=9, weight="bold")


def main() -> None:
    """Draw what there is."""
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    plot_studies(found).savefig(PICTURE)
    methods = found.get("systems", {})
    if methods:
        plot_curves(methods.get("cifar10") or next(iter(methods.values()))).savefig(CURVES)


if __name__ == "__main__":
    main()
