"""Tables in Markdown, and the figures in their cells."""

from typing import Any


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown; rows that are too short end in empty cells."""
    rule = "|---" * len(header) + "|"
    filled = [row + [""] * (len(header) - len(row)) for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(r)} |" for r in filled)])


def mean(method: dict[str, Any], metric: str) -> float:
    """The mean of a metric over the sets."""
    return float(method["metrics"][metric]["mean"])


def cell(method: dict[str, Any], metric: str) -> str:
    """A metric with its standard error."""
    found = method["metrics"].get(metric)
    return "" if found is None else with_error(found)


def with_error(estimate: dict[str, Any]) -> str:
    """A mean with its standard error."""
    error = estimate["standard_error"]
    return f"{estimate['mean']:.3f}" + ("" if error is None else f" ± {error:.3f}")


def seconds(method: dict[str, Any]) -> str:
    """The median time of one set."""
    return "" if method["seconds_median"] is None else f"{method['seconds_median']:.3f}"
