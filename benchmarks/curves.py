"""Draw docs/images/curves.png from benchmarks/results/studies.json: how fast the networks learn."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bench.axes import tidy
from coterie.palette import INK, PALETTE, TAKEN

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/studies.json"
PICTURE = ROOT / "docs/images/curves.png"
STUDY = "curves"
CALLED = {
    "study-amcp-base": "AMCP from anchors",
    "study-amcp-seed": "AMCP from a seed",
    "study-amcp-reencode": "AMCP encoding again",
    "study-amcp-dac": "DAC",
}

Curve = Sequence[Mapping[str, float]]


def plot_curves(curves: Mapping[str, Curve], *, missing: Sequence[str] = ()) -> Figure:
    """Scores on the validation sets against the steps of training, a line for each network.

    A curve is a sequence of step, ari, k_mae; missing: networks that the legend names as such.
    """
    figure = Figure(figsize=(8.4, 3.6), dpi=150, layout="constrained")
    for axes, score, title in zip(
        figure.subplots(1, 2, sharex=True), ("ari", "k_mae"), ("ARI", "k-MAE"), strict=True
    ):
        for number, (name, curve) in enumerate(curves.items()):
            axes.plot(
                [point["step"] for point in curve],
                [point[score] for point in curve],
                color=PALETTE[number % len(PALETTE)],
                linewidth=1.8,
                label=name,
            )
        tidy(axes)
        axes.grid(axis="y", color=TAKEN, linewidth=0.5, alpha=0.6)
        axes.set_title(title, loc="left", color=INK, fontsize=9.5, weight="bold")
    figure.supxlabel("training steps", color=INK, fontsize=9)
    figure.legend(
        handles=figure.axes[0].get_lines(),
        loc="outside upper left",
        ncols=4,
        frameon=False,
        labelcolor=INK,
        fontsize=8.5,
        title=f"not trained: {', '.join(missing)}" if missing else None,
        alignment="left",
        title_fontproperties={"size": 8.5},
    )
    return figure


def curves_of(results: Mapping[str, Any]) -> tuple[dict[str, Curve], list[str]]:
    """The curves of the study by what the networks are called, and those that have none."""
    names = next(study["recipes"] for study in results["studies"] if study["name"] == STUDY)
    found = {
        name: results["recipes"][name]["training"]["curve"]
        for name in names
        if name in results["recipes"]
    }
    curves = {CALLED.get(name, name): curve for name, curve in found.items() if curve}
    return curves, [CALLED.get(name, name) for name in names if not found.get(name)]


def main(results: Path = RESULTS, picture: Path = PICTURE) -> None:
    """Draw the picture, or leave with a word where there is nothing to draw."""
    if not results.is_file():
        raise SystemExit(f"{results} is not there: run python benchmarks studies")
    curves, missing = curves_of(json.loads(results.read_text()))
    if not curves:
        raise SystemExit(f"{results} has no training curve of the study {STUDY!r}")
    picture.parent.mkdir(parents=True, exist_ok=True)
    plot_curves(curves, missing=missing).savefig(picture)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
