"""Many rows in many files: whole runs, the rates of the stages, and a plan made of them."""

import math
from itertools import pairwise
from typing import Any

from pages.cells import grid
from pages.results import results

PLAN_ROWS, PLAN_WORKERS = 10**10, 100
# The names of stages and runs in `many_machines.py`.
ALONE, FIRST = "pyarrow alone: read all columns, write one", "first pass: read, hash, draw"
SECOND, NEAREST = "second pass: read, label, write clusters", "second pass, nearest of 2,000 rows"
CONFIDENT = "second pass, clusters and confidence"
WRITTEN = ("clusters", "clusters and confidence")


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
    own, confident = (_of_pyarrow(data["stages"], name) for name in (SECOND, CONFIDENT))
    told = (
        f"Both passes together label rows at {own:.2f} of the rate at which pyarrow alone copies"
        f" a column, and at {confident:.2f} of it with the confidence."
    )
    return f"{table}\n\n{told}\n\n{_where(data, ' --stages')}\n"


def second_core() -> str:
    """What a second process is worth that knows nothing of the first."""
    data = results("many_machines")
    found = data["second_core"]
    rows = [
        [
            pair["stage"],
            f"{pair['one']:.2f}",
            f"{pair['two']:.2f}",
            f"{pair['one'] / pair['two']:.2f}",
            f"{pair['cpu_one']:.2f}",
            f"{pair['cpu_two']:.2f}",
            f"{pair['others']:.0%}",
        ]
        for pair in found["stages"]
    ]
    header = ["stage", "one process, s", "two, s", "faster by", "CPU s of one", "CPU s of two"]
    header += ["others' share of the machine"]
    told = (
        f"`python benchmarks/second_core.py --folder /tmp/rows --files {found['files']}`;"
        f" {data['machine']['cpu']}, {data['machine']['cores']} cores, {data['date'][:10]}."
    )
    return f"{grid(header, rows)}\n\n{told}\n"


def plan() -> str:
    """What 1e10 rows on 100 workers take, by the rates of the stages."""
    rates = results("many_machines")["stages"]
    first, second, confident, near = (rates[name] for name in (FIRST, SECOND, CONFIDENT, NEAREST))
    share = PLAN_ROWS / PLAN_WORKERS
    hours = PLAN_ROWS * (1 / first + 1 / second) / 3600
    return (
        f"- **First pass**: 1e10 / (100 x {first / 1e6:.1f} million) = {share / first:.0f} seconds"
        " of computing.\n"
        f"- **Second pass**: 1e10 / (100 x {second / 1e6:.1f} million) = {share / second:.0f}"
        f" seconds where a mixture describes the rows, {share / confident:.0f} seconds with the"
        f" confidence, and {share / near:.0f} seconds where the nearest of the fitted rows"
        " decide.\n"
        f"- **Computing in all**: {hours:.1f} CPU hours for a mixture.\n"
    )


def _of_pyarrow(rates: dict[str, float], second: str) -> float:
    """The rate of both passes beside that of pyarrow alone."""
    return 1 / (1 / rates[FIRST] + 1 / rates[second]) / rates[ALONE]


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
        two = _column(found, f"2 workers, {WRITTEN[0]}", key)
        exponents = [
            f"{math.log(two[more] / two[fewer]) / math.log(more / fewer):.2f}"
            for fewer, more in pairwise(sorted(two))
        ]
        if exponents:
            lines.append(f"Exponents of {unit}, two workers: {', '.join(exponents)}.")
    for what in WRITTEN:
        one, two = (
            _column(found, f"{name}, {what}", "seconds") for name in ("1 worker", "2 workers")
        )
        faster = [f"{one[n] / two[n]:.2f} ({n:,} rows)" for n in sorted(two) if n in one]
        if faster:
            lines += [f"{what.capitalize()}: two workers are faster by {', '.join(faster)}."]
        one, two = (_passes(found, f"{name}, {what}") for name in ("1 worker", "2 workers"))
        faster = [f"{one[n] / two[n]:.2f} ({n:,} rows)" for n in sorted(two) if n in one]
        if faster:
            lines += [f"In both passes alone: by {', '.join(faster)}."]
    return " ".join(lines)


def _column(found: list[dict[str, Any]], name: str, key: str) -> dict[int, float]:
    """A figure of the runs of a name that did not fail, by the number of rows."""
    own = [run for run in found if run["name"] == name and "failed" not in (run["told"] or {})]
    return {run["n_rows"]: run[key] for run in own}


def _passes(found: list[dict[str, Any]], name: str) -> dict[int, float]:
    """The seconds of both passes together, by the number of rows."""
    own = [run for run in found if run["name"] == name and "seconds" in (run["told"] or {})]
    return {
        run["n_rows"]: run["told"]["seconds"]["reading"] + run["told"]["seconds"]["labelling"]
        for run in own
    }


def _where(data: dict[str, Any], more: str = "") -> str:
    machine = data["machine"]
    return (
        f"`{data['command']}{more}`; {machine['cpu']}, {machine['cores']} cores,"
        f" {data['date'][:10]}."
    )
