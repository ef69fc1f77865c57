"""Ways to damage a file of weights or of a fitted model, and what somebody may write instead."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load, save

from coterie.weights.checksum import ENTRY
from coterie.weights.format import load_tensors, save_tensors

ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 10**9, 10**400, -0.5, 0.5, 1e300, 1e-300, "", "amcp"),
    *(float("nan"), float("inf"), [], [1], [[]], {}, {"a": 1}, "\x00", "x" * 10_000, "none"),
)

Damage = Callable[[Path, Random], None]


def flip_bit(path: Path, random: Random) -> None:
    """One bit anywhere."""
    content = bytearray(path.read_bytes())
    bit = random.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def flip_header_bit(path: Path, random: Random) -> None:
    """One bit of the header, which is a small part of the file."""
    content = bytearray(path.read_bytes())
    bit = random.randrange(8 * (8 + int.from_bytes(content[:8], "little")))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def truncate(path: Path, random: Random) -> None:
    """The end is missing."""
    content = path.read_bytes()
    path.write_bytes(content[: random.randrange(len(content))])


def overwrite(path: Path, random: Random) -> None:
    """A block of noise or zeros, as of a bad disk."""
    content = bytearray(path.read_bytes())
    start = random.randrange(len(content))
    block = content[start : start + random.choice((16, 512, 4096))]
    noise = random.choice((bytes(len(block)), random.randbytes(len(block))))
    if noise == block:
        noise = bytes(byte ^ 255 for byte in block)
    content[start : start + len(block)] = noise
    path.write_bytes(content)


def edit_header(path: Path, random: Random) -> None:
    """An entry of the header is another, the checksums are as they were."""
    tensors, header = load(path.read_bytes()), _header(path)
    before = json.dumps(header)
    while json.dumps(header) == before:
        _put_odd(header, random)
    path.write_bytes(save(tensors, metadata={"coterie": json.dumps(header)}))


def write_odd_header(path: Path, random: Random) -> None:
    """A card or a model that somebody else wrote, with checksums in order."""
    tensors, header = load_tensors(path)
    for _ in range(random.randint(1, 3)):
        _put_odd(header, random)
    save_tensors(path, tensors, header)


def write_odd_tensors(path: Path, random: Random) -> None:
    """Tensors that somebody else wrote, with checksums in order."""
    tensors, header = load_tensors(path)
    name = random.choice(sorted(tensors))
    tensor = tensors[name]
    odd: tuple[Callable[[], Any], ...] = (
        lambda: tensors.pop(name),
        lambda: tensors.update({f"{name}.more": tensor.clone()}),
        lambda: tensors.update({name: torch.full(tensor.shape, torch.nan)}),
        lambda: tensors.update({name: torch.full(tensor.shape, torch.inf)}),
        lambda: tensors.update({name: tensor * 1e30}),
        lambda: tensors.update({name: torch.zeros_like(tensor)}),
        lambda: tensors.update({name: tensor[None]}),
        lambda: tensors.update({name: tensor.to(torch.complex64)}),
        lambda: tensors.update({name: tensor.to(torch.int64)}),
        lambda: tensors.update({name: tensor.bool()}),
        lambda: tensors.update({name: tensor.double()}),
    )
    random.choice(odd)()
    save_tensors(path, tensors, header)


def flip_old_bit(path: Path, random: Random) -> None:
    """One bit of the tensors of a file from before there were checksums."""
    tensors, header = load(path.read_bytes()), _header(path)
    del header[ENTRY]
    content = bytearray(save(tensors, metadata={"coterie": json.dumps(header)}))
    first = 8 + int.from_bytes(content[:8], "little")
    bit = random.randrange(8 * first, 8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


# What happens to a file on its way, and what somebody may have written.
ON_ITS_WAY: tuple[Damage, ...] = (flip_bit, flip_header_bit, truncate, overwrite, edit_header)
WRITTEN: tuple[Damage, ...] = (write_odd_header, write_odd_tensors, flip_old_bit)


def _put_odd(header: dict[str, Any], random: Random) -> None:
    """Replace, remove or add an entry of a card, its settings or its traits, or of a model."""
    if "model" in header:
        part: Any = random.choice(_containers(header["model"]))
    else:
        card = header["card"]
        parts = [part for part in (card, card.get("settings"), card.get("traits")) if part]
        part = random.choice([part for part in parts if isinstance(part, dict)] or [card])
    names = [*sorted(part), "colour"] if isinstance(part, dict) else range(len(part))
    name: Any = random.choice(names)
    if random.random() < 0.1:
        part.pop(name, None) if isinstance(part, dict) else part.pop(name)
    else:
        part[name] = random.choice(ODD)


def _containers(value: Any) -> list[Any]:
    """All records and lists within a value of JSON that hold something, itself among them."""
    if not isinstance(value, dict | list) or not value:
        return []
    within = value.values() if isinstance(value, dict) else value
    return [value, *(inner for each in within for inner in _containers(each))]


def _header(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    told = json.loads(content[8 : 8 + length])["__metadata__"]["coterie"]
    header: dict[str, Any] = json.loads(told)
    return header
