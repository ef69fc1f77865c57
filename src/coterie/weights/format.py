"""Weights on disk: safetensors with everything needed to use them in the header.

Nothing is ever unpickled. The header's `coterie` entry is JSON: the system's name and settings,
what input the network was trained on, where the weights come from, and checksums of header and
tensors. Files from before the checksums are read without them.

A file may come from anybody. So the card is checked first, then a network without numbers is built
as the card describes it, and the names and shapes of the tensors are compared with its own; only
then are they read, and become those of the network.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from coterie.files.replacing import replacing
from coterie.frames.protocol import FrameKind
from coterie.ood.size import Span
from coterie.ood.texture import Texture
from coterie.systems.registry import build, settings_of
from coterie.weights.card import CONTEXT_SIZE, Card, check_settings_of, read_card
from coterie.weights.checksum import (
    ENTRY,
    are_readable,
    checksums,
    header_checksum,
    tensor_checksum,
)
from coterie.weights.hollow import fill, hollow
from coterie.weights.upgrade import upgrade_header, upgrade_tensor

FORMAT_VERSION = 2
LONGEST_REASON = 500  # characters; torch lists every tensor that does not fit


class WeightsError(ValueError):
    """A weights file that is missing, damaged or of another kind."""


def save_tensors(path: Path, tensors: Mapping[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the file appears whole or not at all."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    told = {**header, ENTRY: checksums(header, contiguous)}
    content = save(contiguous, metadata={"coterie": json.dumps(told)})
    with replacing(path) as part:
        part.write_bytes(content)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and the JSON header, or say which file is at fault and why."""
    with _opened(path) as (file, header):
        return _read(path, file, header), _without_format(header)


def _read(path: Path, file: Any, header: dict[str, Any]) -> dict[str, Tensor]:
    """All tensors of an open file by today's names, the same as were written."""
    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    if ENTRY in header and tensor_checksum(tensors) != header[ENTRY]["tensors"]:
        raise WeightsError(
            f"{path} is damaged: the checksum of its tensors is not the one that was written"
        )
    return {upgrade_tensor(name, header): tensor for name, tensor in tensors.items()}


def _without_format(header: dict[str, Any]) -> dict[str, Any]:
    """The header as if it were to be written today, without what `save_tensors` adds."""
    kept = {name: value for name, value in header.items() if name != ENTRY}
    return {**kept, "version": FORMAT_VERSION}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """An open weights file and its header; whatever is wrong with it becomes a WeightsError."""
    if not path.is_file():
        raise WeightsError(f"no weights file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header = _header(path, (file.metadata() or {}).get("coterie", "null"))
            yield file, _upgraded(path, header)
    except RecursionError as error:
        raise WeightsError(f"{path} is damaged: its header is nested too deep") from error
    except (SafetensorError, UnicodeDecodeError) as error:
        raise WeightsError(f"{path} is damaged or not a safetensors file: {error}") from error


def _header(path: Path, text: str) -> Any:
    """The checked header; a ValueError also stands for an integer of too many digits."""
    try:
        header = json.loads(text)
    except ValueError as error:
        raise WeightsError(f"{path} is damaged: its header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise WeightsError(f"{path} is a safetensors file, but not one of coterie's")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise WeightsError(
            f"{path} has format {version!r}, this coterie reads up to {FORMAT_VERSION}: it may be"
            " newer"
        )
    if not are_readable(header):
        raise WeightsError(f"{path} is damaged: its checksums cannot be read")
    if ENTRY in header and header_checksum(header) != header[ENTRY]["header"]:
        raise WeightsError(
            f"{path} is damaged: the checksum of its header is not the one that was written"
        )
    return header


def _upgraded(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    try:
        return upgrade_header(header)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} has no readable card: {error}") from error


def save_system(path: Path, system: nn.Module, card: Card) -> None:
    """Write a system's weights with its card in the header."""
    save_tensors(path, system.state_dict(), {"version": FORMAT_VERSION, "card": asdict(card)})


def load_card(path: Path) -> Card:
    """Only the card of a weights file."""
    with _opened(path) as (_, header):
        return _card(path, header)


def load_system(path: Path, **changes: Any) -> tuple[nn.Module, Card]:
    """The system of a weights file, ready for inference, and its card.

    Changes replace settings of the card, where the weights serve the changed network too.
    """
    with _opened(path) as (file, header):
        card = _card(path, header)
        other = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        with _fitting(path, other or "its own header"):
            with hollow():  # of any size, at once
                system = build(card.system, {**card.settings, **changes}, card.traits.frame)
                system.load_state_dict(_outlines(file, header))
            tensors = _read(path, file, header)
            _require_numbers(tensors)
            fill(system, tensors)
    return system.eval().requires_grad_(False), card


def _outlines(file: Any, header: dict[str, Any]) -> dict[str, Tensor]:
    """Tensors of the shapes in an open file, by today's names; they take no memory."""
    return {
        upgrade_tensor(name, header): torch.empty(file.get_slice(name).get_shape(), device="meta")
        for name in file.keys()  # noqa: SIM118 (no mapping)
    }


def _require_numbers(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_complex() or not bool(tensor.isfinite().all()):
            raise ValueError(f"{name} is not made of finite numbers")


@contextmanager
def _fitting(path: Path, other: str) -> Iterator[None]:
    """What does not fit the header, or the settings asked for, becomes a WeightsError."""
    try:
        yield
    except WeightsError:
        raise
    except (ValueError, RuntimeError, TypeError, OverflowError) as error:
        reason = str(error)
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]}..."
        raise WeightsError(f"{path} does not fit {other}: {reason}") from error


def make_card(
    system: Any,
    *,
    trained_on: str = "",
    frame: FrameKind | None = None,
    context_size: int = CONTEXT_SIZE,
    sizes: Span | None = None,
    texture: Texture | None = None,
    temperature: float = 1.0,
    **provenance: Any,
) -> Card:
    """The card of a system in memory; frame: another than the system's own."""
    return Card(
        system.name,
        settings_of(system),
        system.traits if frame is None else replace(system.traits, frame=frame),
        trained_on,
        dict(provenance),
        context_size,
        sizes,
        texture,
        temperature,
    )


def _card(path: Path, header: dict[str, Any]) -> Card:
    if "card" not in header:
        raise WeightsError(f"{path} has no readable card: it is not there")
    try:
        card = read_card(header["card"])
    except ValueError as error:
        raise WeightsError(f"{path} has no readable card: {error}") from error
    with _fitting(path, "its own header"):
        check_settings_of(card)
    return card
