import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from coterie.data.collections import held
from coterie.systems.mice.mice import Clustered
from coterie.training.callbacks import Progress
from coterie.training.epoch_bar import EpochBar, in_words
from coterie.training.epoch_history import Epoch, EpochHistory, entropy, read_history
from coterie.training.image_recipes import channel_statistics, recipe_of_images
from coterie.weights.catalogue import find

IMAGES = torch.zeros(10, 1, 8, 8, dtype=torch.uint8)


class Divides(torch.nn.Module):
    """Puts the images of one call into two clusters, one of them three times as often."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def read(self, images):
        posterior = torch.tensor([[0.9, 0.1]]).repeat(len(images), 1)
        posterior[::4] = torch.tensor([0.5, 0.5]) + torch.tensor([-0.1, 0.1])
        return Clustered(posterior, posterior, posterior)


def progress(step: int, steps: int = 6) -> Progress:
    return Progress(step, steps, torch.tensor(7.5), Divides(), ())


def test_an_epoch_is_told_by_what_needs_no_labels(tmp_path):
    told = []
    history = EpochHistory(tmp_path / "h.jsonl", IMAGES[:8], 3, lambda *each: told.append(each[1]))
    for step in range(1, 7):
        history.on_step(progress(step))
    lines = read_history(tmp_path / "h.jsonl")
    assert [line["epoch"] for line in lines] == [1, 2]
    assert [epoch is None for epoch in told] == [True, True, False] * 2
    expected = 0.75 * entropy(torch.tensor([[0.9, 0.1]])) + 0.25 * entropy(
        torch.tensor([[0.4, 0.6]])
    )
    assert lines[0] == {
        "epoch": 1,
        "elbo": -7.5,
        "entropy": pytest.approx(expected, abs=1e-4),
        "largest": 0.75,
        "smallest": 0.25,
    }


def test_of_epochs_that_were_repeated_the_last_counts(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text('{"epoch": 1, "elbo": 1}\n{"epoch": 2, "elbo": 2}\n{"epoch": 2, "elbo": 3}\n')
    assert [line["elbo"] for line in read_history(path)] == [1, 3]
    assert read_history(tmp_path / "nothing") == []


def test_the_bar_says_how_far_training_is():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=140)
    bar = EpochBar(console, steps_per_epoch=3)
    bar.show(progress(3), Epoch(1, -7.512, 1.87, 0.12, 0.08))
    bar.show(progress(4), None)
    bar.on_end(torch.nn.Identity())
    shown = file.getvalue()
    assert "epoch 1 of 2" in shown
    assert "ELBO -7.512, entropy 1.87, clusters 8.0% to 12.0%" in shown
    assert "left" in shown
    assert in_words(Epoch(1, -1, 0.5, 0.5, 0.5)).startswith("ELBO -1.000")


def test_held_images_are_a_collection_until_they_are_let_go():
    images = np.random.default_rng(0).integers(0, 256, (9, 1, 8, 8), dtype=np.uint8)
    with held(images) as name, held(images.copy()) as same:
        assert name == same
        recipe = recipe_of_images(name, images, n_clusters=2, epochs=1)
        batch = recipe.sample(torch.Generator().manual_seed(0), torch.tensor(0))
        assert batch.points.shape == (1, 9, 3, 1, 8, 8)
    with held(images[:8]) as other:
        assert other != name
    with pytest.raises(ValueError, match="unknown collection"):
        recipe.sample(torch.Generator().manual_seed(0), torch.tensor(0))


def test_the_recipe_of_images_follows_their_number_and_colours():
    grey = np.zeros((70_000, 1, 4, 4), dtype=np.uint8)
    recipe = recipe_of_images("grey", grey, n_clusters=10, epochs=30)
    assert recipe.settings["backbone"] == "medium"
    assert recipe.settings["queue"] == 8_704
    assert recipe.prior.batch == 256
    assert recipe.training.steps == 30 * 273
    colour = recipe_of_images("colour", np.zeros((60, 3, 4, 4), dtype=np.uint8), n_clusters=2)
    assert colour.settings["backbone"] == "resnet18"
    assert colour.settings["queue"] == colour.prior.batch == 60
    assert colour.training.falls == (96, 128, 160)


def test_statistics_of_channels_are_those_of_the_pixels():
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 6, 7), dtype=np.uint8)
    mean, std = channel_statistics(images)
    np.testing.assert_allclose(mean, (images / 255).mean((0, 2, 3)))
    np.testing.assert_allclose(std, (images / 255).std((0, 2, 3)))
    assert channel_statistics(np.zeros((2, 1, 4, 4), dtype=np.uint8))[1] == (1 / 255,)


def test_the_shipped_log_has_the_scores_of_the_card():
    path = find("mice-mnist")
    last = json.loads(path.with_suffix(".jsonl").read_text().splitlines()[-1])
    page = Path(path.with_suffix(".md")).read_text()
    assert f"{last['clusters']['acc']:.4f}" in page
    assert last["clusters"]["acc"] >= 0.97
    assert last["epoch"] == 30
