import argparse
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import teach_tables as teach
from coterie.training.callbacks import Progress
from coterie.training.checkpoint import load_checkpoint
from coterie.training.trainer import CHECKPOINT
from coterie.weights.catalogue import find
from coterie.weights.format import load_card, load_system

SMALL = teach.RECIPES["small"]


def timed(folder: Path, **clock: float):
    given = {"seconds": 100.0, "before": 0.0, "total": 100.0, **clock}
    return teach.Timed(SMALL, folder, argparse.Namespace(**given))


def test_the_rate_follows_the_time_that_is_spent(tmp_path, monkeypatch):
    began, peak = teach.BEGAN, SMALL.training.learning_rate

    def rate(elapsed: float, step: int = 5_000, **clock: float) -> float:
        monkeypatch.setattr(time, "time", lambda: began + elapsed)
        return timed(tmp_path, **clock).rate(step)

    assert rate(0) == pytest.approx(peak)
    assert rate(50) == pytest.approx(0.505 * peak)
    assert rate(100) == rate(500) == pytest.approx(0.01 * peak)
    assert rate(20, before=30.0) == rate(50)
    assert rate(0, step=29) == pytest.approx(peak / 10)  # the warm-up is counted in steps


def test_a_piece_ends_with_a_checkpoint_that_is_exported(tmp_path, monkeypatch):
    system, _ = load_system(find(SMALL.start_from))
    system.requires_grad_(True)
    optimizer = torch.optim.Adam(system.parameters(), fused=False)
    with torch.no_grad():
        for weight in system.parameters():
            weight.add_(1.0)
    done = Progress(70, 100, torch.tensor(0.5), system, (optimizer,))
    clock = timed(tmp_path)
    monkeypatch.setattr(time, "time", lambda: teach.BEGAN + 99)
    clock.on_step(done)
    assert not (tmp_path / CHECKPOINT).exists()
    monkeypatch.setattr(time, "time", lambda: teach.BEGAN + 101)
    with pytest.raises(teach.OutOfTime):
        clock.on_step(done)
    checkpoint, weights = tmp_path / CHECKPOINT, tmp_path / "weights.safetensors"
    recipe = SMALL.describe()
    assert load_checkpoint(checkpoint, system, (optimizer,), recipe=recipe) == 70

    teach.export(
        argparse.Namespace(
            recipe="small", checkpoint=checkpoint, weights=weights, kept=0.25, texture=False
        )
    )
    before, after = (load_system(find(path))[0] for path in (SMALL.start_from, str(weights)))
    for old, new in zip(before.parameters(), after.parameters(), strict=True):
        torch.testing.assert_close(new, old + 0.75)
    card = load_card(weights)
    assert card.provenance["recipe"]["training"]["steps"] == 70
    assert card.provenance["recipe"]["kept"] == 0.25
    assert card.texture == load_card(find(SMALL.start_from)).texture


@pytest.mark.parametrize(("plain", "capture", "compile"), [(0, True, True), (1, False, True)])
def test_a_piece_has_no_last_step(plain, capture, compile):
    recipe = teach.endless(SMALL, argparse.Namespace(sets=3, plain=plain))
    assert recipe.training.steps == teach.ENDLESS
    assert recipe.training.sets_per_step == 3
    assert (recipe.training.capture, recipe.training.compile) == (capture, compile)
    assert replace(recipe, training=SMALL.training) == SMALL
