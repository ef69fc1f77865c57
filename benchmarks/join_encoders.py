"""Put the encoders of several clusterers of images side by side (`encoders.images.JoinedEncoder`).

    python benchmarks/join_encoders.py one.safetensors other.safetensors --out both.safetensors

The set network is that of the first, so the result is a clusterer of images like it, and an encoder
for `train_images.py --encoder`. --set changes settings that no weight depends on.
"""

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.pieces import changes, ship
from coterie.systems.registry import build
from coterie.weights.card import Card
from coterie.weights.format import load_system, make_card, save_system


def joined(files: list[Path]) -> tuple[Any, list[Card]]:
    """The first system with the encoders of all, and the cards of these."""
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
    return system.eval(), list(cards)


def in_words(cards: list[Card]) -> str:
    """What the encoders have learnt from, each source once."""
    return "; joined with an encoder trained on ".join(
        dict.fromkeys(card.trained_on for card in cards)
    )


def main() -> None:
    """Read, join and write in half precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON", help="settings")
    parser.add_argument("--trained-on", metavar="WORDS", help="default: those of all files")
    arguments = parser.parse_args()
    system, cards = joined(arguments.weights)
    system.config = replace(system.config, **changes(arguments.set))
    card = make_card(
        system,
        trained_on=arguments.trained_on or in_words(cards),
        context_size=cards[0].context_size,
        recipe=cards[0].provenance.get("recipe", {}),
        command=shlex.join(["python", "benchmarks/join_encoders.py", *sys.argv[1:]]),
    )
    save_system(arguments.out, system, card)
    ship(arguments.out, arguments.out)
    print(card.trained_on)


if __name__ == "__main__":
    main()
