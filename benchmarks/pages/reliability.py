"""What we tried to break, and what came of it."""

from collections.abc import Callable
from typing import Any

from pages.cells import grid
from pages.results import results
from pages.where import where_run

Row = dict[str, Any]


def reliability(part: str) -> str:
    """The `attempts` of all campaigns, the `load` on the server, or what the checksum `costs`."""
    return {"attempts": attempts, "load": load, "costs": costs}[part](results("reliability"))


def attempts(kept: dict[str, Row]) -> str:
    """A line for each campaign: how many attempts, what came of them, what failed."""
    rows = [
        [what, f"{kept[name]['row']['attempts']:,}", told(kept[name]["row"]), failed(kept[name])]
        for name, (what, told) in CAMPAIGNS.items()
        if name in kept
    ]
    header = ["campaign", "attempts", "outcomes", "failures"]
    lines = [
        f"- {CAMPAIGNS[name][0]}: {where_run(kept[name])}" for name in CAMPAIGNS if name in kept
    ]
    return f"{grid(header, rows)}\n\n" + "\n".join(lines) + "\n"


def load(kept: dict[str, Row]) -> str:
    """What the server held."""
    row = kept["requests"]["row"]
    answers = ", ".join(f"{status}: {number:,}" for status, number in row["statuses"].items())
    before, after = row["memory_mb_after_first"], row["memory_mb_at_end"]
    rows = [
        ["requests by 16 concurrent clients", f"{row['attempts']:,} in {row['seconds']:,.0f} s"],
        ["responses by status", answers],
        ["server errors (5xx), hangs", f"{row['server_errors']}, {row['hangs']}"],
        ["tracebacks in the log", f"{row['tracebacks']}"],
        ["slowest response, slow clients excluded", f"{row['slowest_seconds']:.1f} s"],
        [
            "memory after the first thousand requests, at the end",
            f"{before:,.0f} MB, {after:,.0f} MB",
        ],
    ]
    return f"{grid(['', ''], rows)}\n\n{where_run(kept['requests'])}\n"


def costs(kept: dict[str, Row]) -> str:
    """What a checksum takes of the time to load a model."""
    row = kept["weights"]["row"]
    share = row["checksum_ms"] / row["load_ms"]
    return (
        f"Loading `amcp-universal` takes {row['load_ms']:.1f} ms, of which the checksum of its"
        f" tensors takes {row['checksum_ms']:.1f} ms ({share:.0%}): the fastest of ten each.\n\n"
        f"{where_run(kept['weights'])}\n"
    )


def failed(kept: Row) -> str:
    """The number of failures; of the server: its errors, hangs and tracebacks in its log."""
    row = kept["row"]
    if "server_errors" in row:
        return f"{row['server_errors'] + row['hangs'] + row['tracebacks']}"
    return f"{len(row['failures'])}"


def _labels_or_refused(row: Row) -> str:
    return (
        f"labels for {row['labels']:,}, documented errors for {row['refused']:,}; the slowest took"
        f" {row['slowest_cpu_seconds']:.1f} s"
    )


def _served_or_refused(row: Row) -> str:
    return f"{row['refused']:,} rejected; {row['served']:,}, edited on purpose, loaded"


def _resumed(row: Row) -> str:
    moments = ", ".join(f"{number} {moment}" for moment, number in row["moments"].items())
    return f"{row['runs']} training runs resumed, bit for bit ({moments})"


def _answered(row: Row) -> str:
    good = row["statuses"].get("200", 0)
    errors, hangs = row["server_errors"] or "no", row["hangs"] or "no"
    return (
        f"{good:,} successful, the rest rejected, abandoned or closed; {errors} 5xx, {hangs} hang"
    )


CAMPAIGNS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "inputs": ("odd inputs", _labels_or_refused),
    "files": ("damaged files", _labels_or_refused),
    "weights": ("damaged weights", _served_or_refused),
    "kills": ("kills in training", _resumed),
    "requests": ("requests", _answered),
}
