"""Many rows in many files: whole runs, the rates of the stages, and a plan made of them."""

import math
from itertools import pairwise
from typing import Any

from pages.cells import grid
from pages.results import results

PLAN_ROWS, PLAN_WORKERS = 10**10, 100


def runs() -> str:
    """Every run: time, memory, and the rate beside that of pyarrow alone."""
    data = results("many_machines")
    found = data["runs"]
    alone = {run["n_rows"]: run for run in found if run["name"] == "pyarrow alone"}
    rows = [_row(run, alone[run["n_rows"]]) for run in found]
    header = ["rows", "run", "s", "first pass, s", "second pass, s", "CPU s", "of pyarrow's rate"]
    header += ["by CPU s", "GiB in all", "others' share of the machine"]
    return f"{grid(header, rows)}\n\n{_told(found)}\n\n{_where(data)}\n"


def stages() -> str:
    """Rows of each stage per second of computing."""
    data = results("many_machines")
    rows = [[name, f"{rate:,}"] for name, rate in data["stages"].items()]
    table = grid(["stage", "rows per second of CPU time"], rows)
    return f"{table}\n\n{_where(data, ' --stages')}\n"


def plan() -> str:
    """What 1e10 rows on 100 workers take, by the rates of the stages."""
    rates = list(results("many_machines")["stages"].values())
    first, second, near = rates[1], rates[2], rates[4]
    share = PLAN_ROWS / PLAN_WORKERS
    hours = PLAN_ROWS * (1 / first + 1 / second) / 3600
    return (
        f"- **First pass**: 1e10 / (100 x {first / 1e6:.1f} million) = {share / first:.0f} seconds"
        " of computing.\n"
        f"- **Second pass**: 1e10 / (100 x {second / 1e6:.1f} million) = {share / second:.0f}"
        f" seconds where a mixture describes the rows, and {share / near:.0f} seconds where the"
        " nearest of the fitted rows decide.\n"
        f"- **Computing in all**: {hours:.1f} CPU hours for a mixture.\n"
    )


def _row(run: dict[str, Any], alone: dict[str, Any]) -> list[str]:
    told = run["told"] or {}
    if "failed" in told:
        reason = " ".join(told["failed"]) or "failed"
        return [f"{run['n_rows']:,}", run["name"], reason]
    spent = told.get("seconds", {})
    memory = "" if run["peak_gib"] is None else f"{run['peak_gib']:.2f}"
    return [
        f"{run['n_rows']:,}",
        run["name"],
        f"{run['seconds']:.1f}",
        f"{spent['reading']:.1f}" if spent else "",
        f"{spent['labelling']:.1f}" if spent else "",
        f"{run['cpu_seconds']:.1f}",
        f"{alone['seconds'] / run['seconds']:.2f}",
        f"{alone['cpu_seconds'] / run['cpu_seconds']:.2f}",
        memory,
        f"{run['others']:.0%}",
    ]


def _told(found: list[dict[str, Any]]) -> str:
    """The exponents of two workers, and what the second worker is worth."""
    lines = []
    for unit, key in (("the time", "seconds"), ("CPU seconds", "cpu_seconds")):
        two = _column(found, "2 workers, labels", key)
        exponents = [
            f"{math.log(two[more] / two[fewer]) / math.log(more / fewer):.2f}"
            for fewer, more in pairwise(sorted(two))
        ]
        if exponents:
            lines.append(f"Exponents of {unit}, two workers: {', '.join(exponents)}.")
    one, two = (_column(found, f"{name}, labels", "seconds") for name in ("1 worker", "2 workers"))
    faster = [f"{one[n] / two[n]:.2f} ({n:,} rows)" for n in sorted(two) if n in one]
    lines += [f"Two workers are faster than one by: {', '.join(faster)}."] if faster else []
    return " ".join(lines)


def _column(found: list[dict[str, Any]], name: str, key: str) -> dict[int, float]:
    return {run["n_rows"]: run[key] for run in found if run["name"] == name}


def _where(data: dict[str, Any], more: str = "") -> str:
    machine = data["machine"]
    return (
        f"`{data['command']}{more}`; {machine['cpu']}, {machine['cores']} cores,"
        f" {data['date'][:10]}."
    )
