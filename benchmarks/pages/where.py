"""The line below a table: the command, the sets, the machine and the day."""

from typing import Any


def where(data: dict[str, Any], *n_sets: int) -> str:
    """The command, the sets of each setting, the machine and the day."""
    number = " and ".join(f"{each:,}" for each in dict.fromkeys(n_sets))
    machine, others = data["machine"], data["machine"]["others_cpu_share"]
    load = "" if others is None else f"; other processes took {others:.0%} of the machine"
    return (
        f"`{data['command']}`: {number} sets per setting; {machine['cpu']},"
        f" {machine['cores']} cores, {data['date'][:10]}{load}."
    )


def where_run(data: dict[str, Any]) -> str:
    """The command, the machine and the day, of a script that measures one thing."""
    machine = data["machine"]
    return f"`{data['command']}`; {machine['cpu']}, {machine['cores']} cores, {data['date'][:10]}."


def where_tables(data: dict[str, Any]) -> str:
    """The command, the sets, the machine and the days."""
    counts: dict[str, int] = {}
    for given in data["sets"]:
        counts[given["kind"]] = counts.get(given["kind"], 0) + 1
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts))
    earlier = [
        f"{each['name']} ({busy(each['others_cpu_share'])})"
        for each in data["methods"]
        if each["measured"] != [data["date"]]
    ]
    days = sorted({date[:10] for method in data["methods"] for date in method["measured"]})
    kept = f" Earlier runs: {', '.join(earlier)}." if earlier else ""
    machine = data["machine"]
    return (
        f"`{data['command']}`: {len(data['sets'])} sets of at most {data['k_max']} clusters"
        f" ({kinds}), noise not scored, median seconds; {machine['cpu']}, {machine['cores']} cores,"
        f" {' and '.join(days)}; {busy(machine['others_cpu_share'])}.{kept}"
    )


def where_speed(data: dict[str, Any], n_sets: int) -> str:
    """As `where`, with the GPU where there was one."""
    gpu = data["machine"].get("gpu")
    return where(data, n_sets) + (f" GPU: {gpu}." if gpu else "")


def busy(share: float | None) -> str:
    """How much of the machine others took."""
    if share is None:
        return "load of the machine unknown"
    return f"other processes took {share:.0%} of the machine"
