"""Weights of MiCE for inference: the teacher and some keys of the queue, in half precision."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.trimming import trimmed
from coterie.weights.format import FORMAT_VERSION, make_card, save_tensors


def save_compact(
    path: Path, system: MiCE, *, trained_on: str, provenance: Mapping[str, Any]
) -> None:
    """Write what clustering needs; the student, which the file lacks, is read from the teacher."""
    small = trimmed(system)
    state = {
        name: value.half() if value.is_floating_point() else value
        for name, value in small.state_dict().items()
        if not name.startswith("pair.student.")
    }
    card = replace(make_card(small, trained_on=trained_on), provenance=dict(provenance))
    save_tensors(path, state, {"version": FORMAT_VERSION, "card": asdict(card)})
