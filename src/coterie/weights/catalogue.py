"""The models that ship with the package, by name."""

from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, cast

import torch

from coterie.systems.protocol import Direct, Sequential
from coterie.weights.devices import require_device
from coterie.weights.format import Card, WeightsError, load_card, load_system, load_tensors

FOLDER = Path(__file__).parent
SUFFIX = ".safetensors"
BUFFERS = ("running_mean", "running_var", "num_batches_tracked", "mask", "order")


@dataclass(frozen=True)
class Model:
    """A shipped model: its name, its card, where its file and its page are, its size in bytes."""

    name: str
    card: Card
    path: Path
    page: Path
    size: int


def models() -> list[Model]:
    """The models that ship with the package."""
    return [
        Model(path.stem, load_card(path), path, path.with_suffix(".md"), path.stat().st_size)
        for path in _shipped()
    ]


def _shipped() -> list[Path]:
    return sorted(FOLDER.glob(f"*{SUFFIX}"), key=lambda path: path.stem)


def n_parameters(path: Path) -> int:
    """How many weights a file holds; statistics and masks, which are not learnt, do not count."""
    tensors = load_tensors(path)[0]
    return sum(each.numel() for name, each in tensors.items() if not name.endswith(BUFFERS))


def find(weights: str | Path) -> Path:
    """The file behind a shipped model's name or a path."""
    if not isinstance(weights, str | PathLike):
        raise WeightsError(
            f"weights must be a shipped model's name or a {SUFFIX} file, not {weights!r};"
            f" shipped: {_names()}"
        )
    shipped = FOLDER / f"{weights}{SUFFIX}"
    if shipped.is_file():
        return shipped
    path = Path(weights)
    if path.suffix == SUFFIX:
        return path
    raise WeightsError(f"no model {str(weights)!r}; shipped: {_names()}; or give a {SUFFIX} file")


def _names() -> str:
    return ", ".join(path.stem for path in _shipped())


def open_card(weights: str | Path) -> Card:
    """The card of a model, by shipped name or path; read once for each version of the file."""
    path = _existing(weights)
    return _card_of(path, path.stat().st_mtime_ns)


def open_model(
    weights: str | Path,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    **changes: Any,
) -> tuple[Sequential | Direct, Card]:
    """A trained system and its card, by shipped name or path; shared, so not to be trained.

    Changes replace settings of the card, as in `load_system`.
    """
    path = _existing(weights)
    require_device(device)
    return _open(path, path.stat().st_mtime_ns, device, dtype, tuple(sorted(changes.items())))


def _existing(weights: str | Path) -> Path:
    path = find(weights)
    if not path.is_file():
        raise WeightsError(f"no weights file at {path}")
    return path


@lru_cache(maxsize=16)
def _card_of(path: Path, modified: int) -> Card:
    return load_card(path)


@lru_cache(maxsize=16)
def _open(
    path: Path,
    modified: int,
    device: str,
    dtype: torch.dtype,
    changes: tuple[tuple[str, Any], ...],
) -> tuple[Sequential | Direct, Card]:
    system, card = load_system(path, **dict(changes))
    return cast("Sequential | Direct", system.to(device, dtype)), card
