"""Put the encoders of several clusterers of images side by side (`encoders.images.JoinedEncoder`).

    python benchmarks/join_encoders.py one.safetensors other.safetensors --out both.safetensors

The set network is that of the first. The result is an encoder for `train_images.py --encoder`.
"""

import argparse
from pathlib import Path
from typing import Any

from coterie.systems.registry import build
from coterie.weights.format import load_system, make_card, save_system


def joined(files: list[Path]) -> tuple[Any, str]:
    """The first system with the encoders of all, and what these were trained on."""
    systems, cards = zip(*map(load_system, files), strict=True)
    towers = [(*card.settings["convolutions"], card.settings["embedding"]) for card in cards]
    width = sum(each[-1] for each in towers)
    settings = {**cards[0].settings, "towers": towers, "embedding": width}
    system: Any = build(cards[0].system, settings)
    state = systems[0].state_dict()
    kept = {name: value for name, value in state.items() if not name.startswith("item_encoder.")}
    for number, each in enumerate(systems):
        encoder = each.item_encoder.state_dict()
        kept |= {f"item_encoder.towers.{number}.{name}": value for name, value in encoder.items()}
    system.load_state_dict(kept)
    shown = dict.fromkeys(card.trained_on for card in cards)  # in order, each once
    return system.eval(), f"{len(files)} encoders, of {'; '.join(shown)}"


def main() -> None:
    """Read, join and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    system, trained_on = joined(arguments.weights)
    card = make_card(system, trained_on=trained_on)
    save_system(arguments.out, system, card)
    print(trained_on)


if __name__ == "__main__":
    main()
