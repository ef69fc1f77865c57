"""Clusters of images of unseen classes: tables beside the paper's, studies, and the strips."""

from typing import Any

from bench.printed import AMCP_TABLE_6
from pages.cells import cell, grid, seconds
from pages.results import RESULTS, results

NAMES = {
    "amcp": "AMCP",
    "amcp-digits": "AMCP, without letters",
    "chigac": "CHiGac",
    "dac-mlf": "DAC, minimum-loss filtering",
    "dac-af": "DAC, anchored filtering",
    "ncp": "NCP",
    "act_st": "ACT-ST",
}
UNLABELLED = "moco"  # at the end of a name: the encoder was trained without labels
TOLD_K = " told k"  # at the end of a name: the method is given the true number
METRICS = ("acc", "ari", "nmi", "k_error")
STUDIES = {
    "em_steps": "EM steps T",
    "e_step": "E-step",
    "coupling": "coupling with finished clusters",
    "classes": "training classes",
    "systems": "method",
}


def image_sets(data: str) -> str:
    """The rows of a data set, family by family, below the paper's."""
    found = results("image_sets").get(data, {}) if _exists("image_sets") else {}
    families = list(dict.fromkeys(name for row in found.values() for name in row["families"]))
    printed = [_printed_row(row) for row in AMCP_TABLE_6.rows if row[0] == data]
    header = ["sets", "method", "ACC", "ARI", "NMI", "k off by", "seconds"]
    rows = printed + [
        [family, _called(name), *_cells(row["families"][family])]
        for family in families
        for name, row in found.items()
        if family in row["families"]
    ]
    about = dict.fromkeys(_how(row) for row in found.values())
    return "\n\n".join([grid(header, rows), *about]) + "\n"


def image_classes_seen(data: str) -> str:
    """What each network of a table was trained on, and how large it is."""
    found = results("image_sets").get(data, {}) if _exists("image_sets") else {}
    rows = [
        [_called(name), row["trained_on"], _steps(row), f"{row['parameters'] / 1e6:.2f} million"]
        for name, row in found.items()
        if "parameters" in row and "*" not in name
    ]
    return grid(["method", "trained on", "steps", "weights"], rows) + "\n"


def image_studies() -> str:
    """What the studies have found, variant by variant."""
    found = results("image_studies") if _exists("image_studies") else {}
    parts = [_study(study, found[study]) for study in STUDIES if found.get(study)]
    return "\n\n".join(parts or ["No results yet."]) + "\n"


def _study(study: str, found: dict[str, Any]) -> str:
    rows = [
        [
            data,
            variant,
            f"{row['acc']:.3f}",
            f"{row['acc_updated']:.3f}",
            f"{row['k_error']:.2f}",
            f"{row['seconds']:.3f}",
            f"{row['training_seconds'] / 60:.1f}",
            f"{row['step']:,}",
        ]
        for data, variants in found.items()
        for variant, row in variants.items()
    ]
    header = ["data", STUDIES[study], "ACC", "ACC*", "k off by", "seconds"]
    header += ["minutes of training", "steps"]
    commands = dict.fromkeys(row["command"] for each in found.values() for row in each.values())
    return grid(header, rows) + "\n\n" + "; ".join(f"`{each}`" for each in commands) + "."


def _exists(name: str) -> bool:
    return (RESULTS / f"{name}.json").exists()


def _printed_row(row: tuple[str | None, ...]) -> list[str]:
    _, method, acc, took = row
    return ["printed", f"{method}, printed", f"{acc}", "", "", "", f"{took}"]


def _called(name: str) -> str:
    before, told, _ = name.partition(TOLD_K)
    star = "*" if before.endswith("*") else ""
    plain = before.removesuffix("*")
    method = plain.removesuffix(f"-{UNLABELLED}")
    more = "" if method == plain else ", encoder trained without labels"
    return NAMES.get(method, method) + star + more + told


def _cells(found: dict[str, Any]) -> list[str]:
    return [*(cell(found, metric) for metric in METRICS), seconds(found)]


def _steps(row: dict[str, Any]) -> str:
    return "" if row["steps"] is None else f"{row['steps']:,}"


def _how(row: dict[str, Any]) -> str:
    sets = next(iter(row["families"].values()))["sets"]
    machine = row["machine"]["cpu"] if row["device"].startswith("CPU") else row["device"]
    return f"`{row['command']}`, {sets} sets each; {machine}, {row['date'][:10]}."
