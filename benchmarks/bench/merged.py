"""Results that grow row by row: a measurement replaces its former one and leaves the others."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.files.replacing import replacing


def merge(path: Path, place: Sequence[str], found: Any) -> None:
    """Put what was found at a place of nested names in a JSON file, which may not be there yet."""
    whole: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    inner = whole
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    inner[place[-1]] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(json.dumps(whole, indent=1) + "\n")
