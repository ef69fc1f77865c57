"""Weights on disk: safetensors with everything needed to use them in the header.

Nothing is ever unpickled. The header's `coterie` entry is JSON: the system's name and settings,
what input the network was trained on, and where the weights come from.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from coterie.frames.protocol import FrameKind
from coterie.ood.size import Span
from coterie.ood.texture import Texture
from coterie.systems.registry import build, settings_of
from coterie.systems.traits import Traits
from coterie.weights.upgrade import upgrade_header, upgrade_tensor

FORMAT_VERSION = 2
CONTEXT_SIZE = 10_000


class WeightsError(ValueError):
    """A weights file that is missing, damaged or of another kind."""


@dataclass(frozen=True)
class Card:
    """What a weights file says of itself.

    system, settings: build the network again; traits: what is known of it without building it;
    trained_on: the prior in words; provenance: preset, seed, steps and the like; context_size: on
    how many points at most clusters are found, by default; sizes: of the training sets, for the
    plain frame; texture: the limits within which nearly all training sets lie, for the standard
    frame; temperature: at which the network's probabilities are calibrated.
    """

    system: str
    settings: dict[str, Any]
    traits: Traits
    trained_on: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    context_size: int = CONTEXT_SIZE
    sizes: Span | None = None
    texture: Texture | None = None
    temperature: float = 1.0


def save_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(contiguous, partial, metadata={"coterie": json.dumps(header)})
    partial.replace(path)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and the JSON header, or say which file is at fault and why."""
    with _opened(path) as (file, header):
        names = file.keys()
        tensors = {upgrade_tensor(name, header): file.get_tensor(name) for name in names}
        return tensors, {**header, "version": FORMAT_VERSION}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """An open weights file and its header; whatever is wrong with it becomes a WeightsError."""
    if not path.is_file():
        raise WeightsError(f"no weights file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("coterie", "null"))
            _check_header(path, header)
            yield file, _upgraded(path, header)
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise WeightsError(f"{path} is damaged or no safetensors file: {error}") from error


def _check_header(path: Path, header: Any) -> None:
    if not isinstance(header, dict):
        raise WeightsError(f"{path} is a safetensors file, but not one of coterie's")
    if header.get("version") not in range(1, FORMAT_VERSION + 1):
        raise WeightsError(
            f"{path} has format {header.get('version')!r}, this coterie reads up to"
            f" {FORMAT_VERSION}: it may be newer"
        )


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
    tensors, header = load_tensors(path)
    card = _card(path, header)
    try:
        system = build(card.system, {**card.settings, **changes}, card.traits.frame)
        system.load_state_dict(tensors)
    except (ValueError, RuntimeError, TypeError) as error:
        wanted = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        other = wanted or "its own header"
        raise WeightsError(f"{path} does not fit {other}: {error}") from error
    return system.eval().requires_grad_(False), card


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
    try:
        card = Card(**header["card"])
        traits: dict[str, Any] = dict(header["card"]["traits"])
        sizes, texture = card.sizes, card.texture
        return replace(
            card,
            traits=Traits(**{**traits, "item_shape": tuple(traits["item_shape"])}),
            sizes=None if sizes is None else Span(*sizes),
            texture=None if texture is None else Texture(*texture),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} has no readable card: {error}") from error
