"""What the benchmarks wrote into benchmarks/results."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"


def results(name: str) -> dict[str, Any]:
    """What a benchmark wrote."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def steps(name: str) -> list[dict[str, Any]]:
    """What a training run scored, an entry for each step that was tested."""
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
