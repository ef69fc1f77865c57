"""What a choice is worth: studies of recipes, ablations, and how a training run went."""

from statistics import fmean
from typing import Any

from pages.cells import cell, grid
from pages.results import results, steps
from pages.where import where, where_run

ENDINGS = {
    "network": "as the network says",
    "star": "re-estimated",
    "consolidated": "consolidated",
}


def studies() -> str:
    """A table for each question; recipes without weights are named."""
    data = results("studies")
    settings = data["settings"]
    parts = []
    for study in data["studies"]:
        lines = [
            f"**{study['name']}.** {study['question']}\n",
            "| recipe | answer |" + "".join(f" ARI {s['title']} | k-MAE | ms |" for s in settings),
            "|---|---|" + "---|---|---|" * len(settings),
        ]
        for recipe in study["recipes"]:
            if recipe in data["missing"]:
                lines.append(f"| `{recipe}` | not trained yet |" + " | | |" * len(settings))
                continue
            for ending in study["endings"]:
                words, cells = ENDINGS[ending], []
                for setting in settings:
                    methods = {method["name"]: method for method in setting["ours"]["methods"]}
                    method = methods[f"{recipe}, {words}"]
                    milliseconds = f"{1000 * method['seconds_median']:.1f}"
                    cells += [cell(method, "ari"), cell(method, "k_mae"), milliseconds]
                lines.append(f"| `{recipe}` | {words} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + f"\n\n{where(data, settings[0]['ours']['n_sets'])}\n"


def ablations(part: str) -> str:
    """What parts are worth: `networks` with one part less, other ways of `asking`, `projecting`."""
    data = results("ablations")
    written = {"networks": networks, "asking": asking, "projecting": projecting}
    return f"{written[part](data[part])}\n\n{where_run(data)}\n"


def networks(rows: list[dict[str, Any]]) -> str:
    """Short trainings with one part less, on the public sets and on each family."""
    families = list(rows[0]["families"])
    header = ["", "public sets", "k within one", "families", *families]
    cells = [
        [f"`{row['name']}`", f"{row['ari']:.3f}", f"{row['k_within_one']:.0%}"]
        + [f"{fmean(row['families'].values()):.3f}"]
        + [f"{row['families'][name]:.2f}" for name in families]
        for row in rows
    ]
    return grid(header, cells)


def asking(rows: list[dict[str, Any]]) -> str:
    """The shipped model on the public sets, asked in other ways."""
    header = ["", "ARI", "k exact", "k within one"]
    cells = [
        [row["name"], f"{row['ari']:.3f}", f"{row['k_exact']:.0%}", f"{row['k_within_one']:.0%}"]
        for row in rows
    ]
    return grid(header, cells)


def projecting(rows: list[dict[str, Any]]) -> str:
    """The shipped model on wide tables that were brought down to fewer columns before."""
    names = list(rows[0]["sets"])
    header = ["", "mean", *names]
    cells = [
        [row["name"], f"{row['ari']:.3f}", *(f"{row['sets'][name]:.2f}" for name in names)]
        for row in rows
    ]
    return grid(header, cells)


def validation(name: str) -> str:
    """What a training run scored on its test sets, step by step."""
    lines = ["| step | ARI | k-MAE |", "|---|---|---|"]
    for scores in steps(name):
        lines.append(f"| {scores['step']:,} | {scores['ari']:.3f} | {scores['k_mae']:.2f} |")
    return "\n".join(lines) + "\n"
