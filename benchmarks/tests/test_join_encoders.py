"""Encoders of two small clusterers of images, side by side."""

import sys

import pytest
import torch

import join_encoders
from coterie.systems.registry import build
from coterie.weights.format import load_card, load_system, make_card, save_system

SETTINGS = {"image": (1, 8, 8), "columns": 4, "width": 16, "heads": 2, "references": 4}


@pytest.fixture
def files(tmp_path):
    made = []
    for seed, width in enumerate((8, 12)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            system = build("amcp", {**SETTINGS, "convolutions": (4, 8), "embedding": width})
        path = tmp_path / f"{seed}.safetensors"
        save_system(path, system.eval(), make_card(system, trained_on=f"pool {seed}"))
        made.append(path)
    return made


def test_both_encoders_read_an_image_and_the_first_network_clusters(files, tmp_path, monkeypatch):
    out = tmp_path / "both.safetensors"
    arguments = [*map(str, files), "--out", str(out), "--set", "most_leakage=0.3"]
    monkeypatch.setattr(sys, "argv", ["join_encoders.py", *arguments])
    join_encoders.main()
    card = load_card(out)
    assert card.trained_on == "pool 0; joined with an encoder trained on pool 1"
    assert card.traits.most_leakage == 0.3
    assert "join_encoders.py" in card.provenance["command"]
    both, first, second = (load_system(path)[0].eval() for path in (out, *files))
    images = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        parts = both.item_encoder(images).split([8, 12], dim=-1)
        for part, each in zip(parts, (first, second), strict=True):
            alone = each.item_encoder(images) / each.item_encoder.width**0.5
            torch.testing.assert_close(part / 10**0.5, alone, atol=2e-3, rtol=0)
    kept = {name: value for name, value in both.state_dict().items() if "item_encoder" not in name}
    for name, value in kept.items():
        torch.testing.assert_close(value, first.state_dict()[name], atol=2e-3, rtol=1e-3)
