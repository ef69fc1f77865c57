"""MiCE and MoCo on a collection of a few images, by the one trainer."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.data import collections
from coterie.data.augmentation import DigitViews
from coterie.data.collections import ImageCollection, LabelledImages
from coterie.training.collection_outputs import read_collection
from coterie.training.collection_scores import (
    CollectionScores,
    collection_scores,
    knn_accuracy,
)
from coterie.training.image_recipes import IMAGE_RECIPES, cifar10_recipe, collection_recipe
from coterie.training.pieces import find_pieces, join_pieces, write_pieces
from coterie.training.trainer import CHECKPOINT, WEIGHTS, fast_kernels, train
from coterie.weights.format import WeightsError, load_system, load_tensors

SETTINGS = {"backbone": "small", "mean": (0.2,), "std": (0.3,), "width": 8, "queue": 16}


class Stop:
    def on_step(self, progress) -> None:
        if progress.step == 5:  # in the middle of the second epoch
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def bars(monkeypatch, tmp_path) -> LabelledImages:
    """Forty images of bars in two places."""
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 2
    images = generator.integers(0, 60, (40, 1, 8, 8), dtype=np.uint8)
    images[labels == 0, :, :, 2:4] += 150
    images[labels == 1, :, 4:6, :] += 150
    held = LabelledImages(images, labels, 30)
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setitem(collections.LOADERS, "bars", lambda folder: held)
    collections.open_collection.cache_clear()
    collections._on_device.cache_clear()
    return held


def recipe(system: str, epochs: int = 3):
    source = ImageCollection("bars", 40, DigitViews(), batch=12)
    settings = SETTINGS | ({"n_clusters": 2} if system == "mice" else {})
    made = collection_recipe(
        f"{system}-bars", system, source, epochs=epochs, settings=settings, warmup=1,
        learning_rate=0.05,
    )  # fmt: skip
    return replace(made, training=replace(made.training, checkpoint_every=2))


def same_state(first, second) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("system", ["mice", "moco"])
def test_a_stopped_run_resumes_to_the_same_bits(system, tmp_path):
    whole = train(recipe(system), tmp_path / "whole", accelerator="cpu")
    with pytest.raises(KeyboardInterrupt):
        train(recipe(system), tmp_path / "torn", accelerator="cpu", callbacks=[Stop()])
    resumed = train(recipe(system), tmp_path / "torn", resume=True, accelerator="cpu")
    assert same_state(resumed, whole)
    names = load_tensors(tmp_path / "torn" / CHECKPOINT)[0].keys()
    assert "optimizer.pair.student.backbone.stem.weight.momentum_buffer" in names
    assert {"system.queue.keys", "system.pair.teacher.heads.weight"} <= names
    loaded, card = load_system(tmp_path / "torn" / WEIGHTS)
    assert same_state(loaded, whole)
    assert card.trained_on == "40 images of bars, without labels"


def test_scores_along_the_way_change_nothing_and_are_written(tmp_path):
    plain = train(recipe("mice"), tmp_path / "plain", accelerator="cpu")
    path = tmp_path / "scores.jsonl"
    scores = CollectionScores(path, recipe("mice"), every=2)
    scored = train(recipe("mice"), tmp_path / "scored", accelerator="cpu", callbacks=[scores])
    assert same_state(plain, scored)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [2, 3]
    assert sum(lines[0]["sizes"]) == 40
    for name in ("clusters", "kmeans_embeddings", "kmeans_features"):
        assert set(lines[0][name]) == {"acc", "nmi", "ari"}
    assert 0 <= lines[0]["knn"] <= 1


def test_moco_is_scored_by_spherical_kmeans(bars, tmp_path):
    system = train(recipe("moco", epochs=1), tmp_path, accelerator="cpu")
    scores = collection_scores(system, bars)
    assert "clusters" not in scores
    assert scores["kmeans_features"]["acc"] > 0.5


def test_a_collection_is_read_in_chunks(bars, tmp_path, monkeypatch):
    system = train(recipe("mice", epochs=1), tmp_path, accelerator="cpu")
    images = torch.from_numpy(bars.images)
    whole = read_collection(system, images)
    monkeypatch.setattr("coterie.training.collection_outputs.CHUNK", 7)
    parts = read_collection(system, images)
    for name in ("posterior", "embeddings", "features"):
        torch.testing.assert_close(whole[name], parts[name], rtol=1e-4, atol=1e-5)


def test_nearest_neighbours_vote():
    known = torch.tensor([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]])
    labels = torch.tensor([0, 0, 1, 1])
    asked, truth = torch.tensor([[2.0, 0.2], [0.3, 3.0], [5, 1]]), torch.tensor([0, 1, 1])
    assert knn_accuracy(known, labels, asked, truth) == pytest.approx(2 / 3)


def test_the_schedule_of_the_paper_in_epochs():
    made = cifar10_recipe("mice", epochs=1000, backbone="resnet34")
    pace = 60_000 // 256
    assert made.prior.steps_per_epoch == pace == 234
    assert made.training.steps == 1000 * pace
    assert made.training.falls == (480 * pace, 640 * pace, 800 * pace)
    assert (made.training.warmup, made.training.learning_rate) == (10 * pace, 1.0)
    assert (made.prior.n_views, cifar10_recipe("moco").prior.n_views) == (3, 2)


@pytest.mark.parametrize("name", IMAGE_RECIPES)
def test_recipes_can_be_written_down(name):
    made = IMAGE_RECIPES[name](epochs=50)
    described = json.loads(json.dumps(made.describe()))
    assert described["name"] == name
    assert described["prior"]["views"]
    assert made.training.steps == 50 * made.steps_per_epoch


def test_a_run_goes_on_from_pieces_in_half_precision(tmp_path):
    made = recipe("mice")
    with pytest.raises(KeyboardInterrupt):
        train(made, tmp_path / "torn", accelerator="cpu", callbacks=[Stop()])
    pieces = write_pieces(tmp_path / "torn" / CHECKPOINT, tmp_path / "pieces", size=200_000)
    assert len(pieces) > 2
    assert all(path.stat().st_size <= 200_000 for path in pieces)
    assert find_pieces(tmp_path / "pieces") == pieces
    joined = tmp_path / "again" / CHECKPOINT
    assert join_pieces(pieces, joined, made) == 4
    before, after = (load_tensors(path)[0] for path in (tmp_path / "torn" / CHECKPOINT, joined))
    for name, value in after.items():
        if not name.startswith("system.queue."):
            torch.testing.assert_close(value, before[name], rtol=1e-3, atol=1e-4)
    unit = after["system.queue.keys"].norm(dim=-1)
    torch.testing.assert_close(unit, torch.ones_like(unit))
    finished = train(made, tmp_path / "again", resume=True, accelerator="cpu")
    assert all(value.isfinite().all() for value in finished.state_dict().values())


def test_pieces_that_are_not_whole_are_refused(tmp_path):
    made = recipe("moco", epochs=1)
    train(made, tmp_path, accelerator="cpu")
    pieces = write_pieces(tmp_path / CHECKPOINT, tmp_path / "pieces", size=200_000)
    with pytest.raises(WeightsError, match="are incomplete"):
        join_pieces(pieces[:-1], tmp_path / "again" / CHECKPOINT, made)


def test_new_pieces_replace_the_old_ones(tmp_path):
    train(recipe("moco", epochs=1), tmp_path, accelerator="cpu")
    many = write_pieces(tmp_path / CHECKPOINT, tmp_path / "pieces", size=100_000)
    few = write_pieces(tmp_path / CHECKPOINT, tmp_path / "pieces")
    assert len(many) > len(few) == len(find_pieces(tmp_path / "pieces")) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("system", ["mice", "moco"])
def test_a_captured_run_takes_the_steps_of_one_that_is_not(system, tmp_path):
    states = []
    for capture in (False, True):
        made = recipe(system, epochs=4)
        training = replace(
            made.training, capture=capture, compile=False, precision="32-true", steps=12
        )
        trained = train(
            replace(made, training=training), tmp_path / str(capture), accelerator="gpu"
        )
        states.append(trained.state_dict())
    for name, value in states[0].items():
        if value.is_floating_point():
            torch.testing.assert_close(states[1][name], value, rtol=0.05, atol=0.05)


def test_convolutions_on_a_gpu_are_cudnns_own():
    before = torch.backends.cudnn.benchmark

    with fast_kernels(torch.device("cuda")):
        assert torch.backends.cudnn.enabled
        assert torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.benchmark == before
