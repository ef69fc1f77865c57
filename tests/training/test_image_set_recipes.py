import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.pools import ImagePool
from coterie.systems.registry import build
from coterie.training import image_set_recipes
from coterie.training.image_set_recipes import (
    DATA,
    IMAGE_SET_RECIPES,
    SET_NETWORKS,
    image_set_recipe,
    with_encoder,
)
from coterie.training.presets import preset
from coterie.training.set_scores import SetScores, cluster_images_of, draw_set, score
from coterie.training.trainer import CHECKPOINT, train
from coterie.weights.format import WeightsError, load_card, load_system, make_card, save_system


@pytest.mark.parametrize("name", sorted(IMAGE_SET_RECIPES))
def test_a_recipe_builds_its_system_and_can_be_written_down(name):
    recipe = preset(name)
    assert recipe.name == name
    described = json.loads(json.dumps(recipe.describe()))
    assert described["settings"]["k_max"] == recipe.prior.k_max
    with torch.device("meta"):
        config = build(recipe.system, recipe.settings).config
    assert config.embedding
    assert config.traits.reads_images


@pytest.mark.parametrize("data", sorted(DATA))
def test_all_methods_have_the_same_encoder_and_budget(data):
    recipes = [image_set_recipe(data, method) for method in SET_NETWORKS]
    names = ("image", "backbone", "convolutions", "embedding", "columns", "neighbour_weight")
    assert len({tuple(str(each.settings.get(name)) for name in names) for each in recipes}) == 1
    assert len({each.training for each in recipes}) == 1
    assert len({each.prior.pool for each in recipes}) == 1


def test_fewer_classes_may_be_shown():
    assert image_set_recipe("mnist", classes=2).prior.classes == 2
    tiny = image_set_recipe("tinyimagenet", classes=10)
    assert tiny.prior.k_max == tiny.settings["k_max"] == 10
    assert "10 classes of" in tiny.trained_on


TINY = {
    "image": (1, 28, 28),
    "convolutions": (4, 8),
    "embedding": 16,
    "columns": 4,
    "width": 16,
    "heads": 2,
    "references": 4,
    "encoder_blocks": 1,
    "read_width": 8,
    "questions": 4,
    "proposals": 2,
}


def small(**changes):
    recipe = image_set_recipe("mnist", settings=TINY, steps=6, sets_per_step=2, precision="32-true")
    return replace(recipe, prior=replace(recipe.prior, n_max=24), **changes)


@pytest.fixture
def digits():
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")


class Stop(Exception):
    pass


class StopAt:
    def __init__(self, step):
        self.step = step

    def on_step(self, progress):
        if progress.step == self.step:
            raise Stop


def test_a_run_that_was_stopped_goes_on_bit_by_bit(digits, tmp_path):
    recipe = small(training=replace(small().training, checkpoint_every=3))
    whole = train(recipe, tmp_path / "whole", accelerator="cpu")
    with pytest.raises(Stop):
        train(recipe, tmp_path / "parts", accelerator="cpu", callbacks=[StopAt(4)])
    assert (tmp_path / "parts" / CHECKPOINT).exists()
    again = train(recipe, tmp_path / "parts", resume=True, accelerator="cpu")
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    card = load_card(tmp_path / "whole" / "weights.safetensors")
    assert card.traits.item_shape == (1, 28, 28)


@pytest.fixture
def moco(tmp_path):
    settings = {"backbone": "small", "mean": (0.13,), "std": (0.31,), "shape": (28, 28), "queue": 8}
    system = build("moco", settings)
    path = tmp_path / "moco.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def test_an_encoder_of_moco_is_the_start_and_stays_as_it_is(digits, moco, tmp_path):
    recipe = with_encoder(small(), moco)
    recipe = replace(recipe, prior=replace(recipe.prior, bank=4))
    assert recipe.settings["embedding"] == 128
    system = train(recipe, tmp_path / "run", accelerator="cpu")
    known = load_system(tmp_path / "moco.safetensors")[0].pair.teacher.backbone.state_dict()
    for name, value in system.item_encoder.backbone.state_dict().items():
        assert torch.equal(value.cpu(), known[name]), name
    assert "without labels" in load_card(tmp_path / "run" / "weights.safetensors").trained_on


def test_systems_may_share_the_encoder_of_one_of_them(digits, tmp_path):
    first = train(small(), tmp_path / "amcp", accelerator="cpu")
    weights = tmp_path / "amcp" / "weights.safetensors"
    dac = image_set_recipe("mnist", "dac-mlf", steps=3, sets_per_step=2, precision="32-true")
    narrow = {"width": 16, "heads": 2, "slots": 4, "columns": 4, "encoder_blocks": 1}
    dac = replace(dac, settings={**dac.settings, **narrow}, prior=replace(dac.prior, n_max=24))
    dac = with_encoder(dac, str(weights))
    dac = replace(dac, prior=replace(dac.prior, bank=4))
    shared = train(dac, tmp_path / "dac", accelerator="cpu")
    for name, value in first.item_encoder.state_dict().items():
        assert torch.equal(shared.item_encoder.state_dict()[name], value), name
    assert "the encoder of amcp" in load_card(tmp_path / "dac" / "weights.safetensors").trained_on


def test_other_weights_are_no_encoder(tmp_path):
    with pytest.raises(ValueError, match="is of the system 'amcp', without such an encoder"):
        with_encoder(small(), "amcp-mog2d")
    with pytest.raises(ValueError, match="has no encoder of images to replace"):
        with_encoder(preset("amcp-mog2d"), "amcp-mog2d")
    with pytest.raises(WeightsError, match="is of 'amcp', without an encoder"):
        train(small(encoder_from="amcp-mog2d"), tmp_path, accelerator="cpu")


@pytest.fixture
def pool():
    """Three classes of 40 images of 8 x 8, which differ in where they are bright."""
    draw = np.random.default_rng(0)
    images = draw.integers(0, 40, (120, 1, 8, 8)).astype(np.uint8)
    for number in range(3):
        images[40 * number : 40 * number + 40, :, 2 * number : 2 * number + 3] += 180
    return ImagePool(images, np.full(3, 40), tuple("abc"), np.zeros(3, int), ("all",))


def test_sets_are_drawn_from_some_classes_without_repetition(pool):
    random = np.random.default_rng(0)
    rows, truth = draw_set(pool, 60, 2, random)
    assert len(set(rows.tolist())) == 60
    assert len(set(truth.tolist())) == 2
    assert (truth == pool.labels[rows]).all()
    assert len(draw_set(pool, 300, 3, random).rows) == 300  # more than there are


def test_scores_are_written_along_the_way(pool, tmp_path):
    settings = {**TINY, "image": (1, 8, 8), "encode_every": 0, "decoder_blocks": 0}
    system = build("amcp", {**settings, "proposal": "anchor"})
    watcher = SetScores(tmp_path / "s.jsonl", {"seen": pool}, every=2, n_sets=2, n_images=30)

    class Progress:
        rank, steps, loss = 0, 3, torch.tensor(1.0)

        def __init__(self, step):
            self.step, self.system = step, system

    for step in (1, 2, 3):
        watcher.on_step(Progress(step))
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 3]
    assert set(lines[0]["seen"]) == {"acc", "ari", "nmi", "k_error"}
    found = cluster_images_of(system.eval(), pool.images)
    assert found.shape == (120,)
    assert score(pool.labels, pool.labels)["acc"] == 1


def test_every_image_of_a_recipe_is_of_the_training_side():
    for recipe in map(preset, IMAGE_SET_RECIPES):
        assert recipe.prior.pool.endswith(("-even", "-even-letters", "-first"))
        assert not getattr(recipe.prior, "left_out", ())
    assert isinstance(image_set_recipes.DATA["cifar10"].episodes, ImageEpisodes)


def test_the_command_takes_an_encoder_only_where_there_is_one(tmp_path, moco):
    def told(*arguments):
        result = CliRunner().invoke(app, ["train", *arguments, "--device", "cpu"])
        assert result.exit_code == 2
        return result.stderr

    out = ["--out", str(tmp_path / "run")]
    assert "has no encoder of images to replace" in told("amcp-mog2d", "--encoder", moco, *out)
    absent = str(tmp_path / "absent.safetensors")
    assert "absent.safetensors" in told("amcp-mnist", "--encoder", absent, *out)
    assert not (tmp_path / "run").exists()
