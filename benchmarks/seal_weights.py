"""Write checksums into weights files that have none; the tensors stay as they are, bit for bit.

`python benchmarks/seal_weights.py` seals the shipped models, with paths: other files.
"""

import json
import sys
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file

from coterie.weights.catalogue import models
from coterie.weights.checksum import ENTRY
from coterie.weights.format import save_tensors


def seal(path: Path) -> bool:
    """Add the checksums; False if they are there already."""
    header, before = _header(path), _tensor_bytes(path)
    if ENTRY in header:
        return False
    save_tensors(path, load_file(path), header)
    if _tensor_bytes(path) != before:
        raise RuntimeError(f"the tensors of {path} changed")
    return True


def _header(path: Path) -> dict[str, Any]:
    with safe_open(path, framework="pt") as file:
        header: dict[str, Any] = json.loads(file.metadata()["coterie"])
    return header


def _tensor_bytes(path: Path) -> bytes:
    """Everything behind the header; names, types and places stand in front of it."""
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def main(*paths: str) -> None:
    """Seal the files, and say which were without."""
    for path in map(Path, paths) if paths else [model.path for model in models()]:
        print(f"{path}: {'sealed' if seal(path) else 'has checksums'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
