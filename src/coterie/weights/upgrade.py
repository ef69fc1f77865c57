"""Weights files of earlier formats, read as if they were of today's.

Format 1 had no traits, called frames scalings, and had the tensors of a system in one flat module.
"""

from typing import Any

from coterie.systems.registry import traits_of

FRAMES = {"none": "plain", "robust": "standard"}
SETTINGS = {"unheard": "walk_dropout"}
# By the beginnings of the names of tensors; everything else is a part of the network.
TENSORS = {
    "amcp": {
        "embed.": "network.encoder.embed.",
        "encoder.": "network.encoder.blocks.",
        "norm_encoded.": "network.encoder.norm.",
        "hear.": "network.walk_map.",
    },
    "dac": {},
}


def upgrade_header(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a weights file with the card of today's format."""
    if header["version"] > 1 or "card" not in header:
        return header
    card = dict(header["card"])
    card["settings"] = {SETTINGS.get(name, name): value for name, value in card["settings"].items()}
    traits = traits_of(card["system"], card["settings"])
    frame = FRAMES[card.pop("scaling", "none")]
    card["traits"] = {**vars(traits), "frame": frame}
    return {**header, "card": card}


def upgrade_tensor(name: str, header: dict[str, Any]) -> str:
    """Today's name of a tensor of a weights file."""
    if header["version"] > 1 or "card" not in header:
        return name
    for old, new in TENSORS.get(header["card"]["system"], {}).items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return f"network.{name}"
