"""Checksums of a weights file: one of its header, one of its tensors.

A flipped bit in the tensors is otherwise silent: the file is read, and some of the labels change.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

ENTRY = "sha256"
PARTS = {"header", "tensors"}


def checksums(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """The entry of a header with these tensors."""
    return {"header": header_checksum(header), "tensors": tensor_checksum(tensors)}


def are_readable(header: Mapping[str, Any]) -> bool:
    """Whether a header has an entry of checksums that is whole, or none at all.

    An entry under another name is one whose name was damaged: a file must not pass for an old one.
    """
    entries = {
        name
        for name, value in header.items()
        if name == ENTRY or (isinstance(value, dict) and value.keys() == PARTS)
    }
    return not entries or (entries == {ENTRY} and _is_whole(header[ENTRY]))


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.keys() == PARTS


def header_checksum(header: Mapping[str, Any]) -> str:
    """SHA-256 of the header as JSON, without its entry of checksums."""
    content = {name: value for name, value in header.items() if name != ENTRY}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def tensor_checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the names, types, shapes and bytes of all tensors, in the order of their names."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
