"""The rows of the long campaigns, kept for the page *What we tried to break*."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import describe_machine

RESULTS = Path(__file__).parent.parent / "results/reliability.json"


def keep(name: str, row: dict[str, Any], path: Path = RESULTS) -> None:
    """Add the row of a campaign to those of the others, with the command that printed it."""
    kept = json.loads(path.read_text()) if path.is_file() else {}
    kept[name] = {
        "command": f"python benchmarks/reliability {name} --attempts {row['attempts']}"
        f" --seed {row['seed']}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "row": row,
    }
    path.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
