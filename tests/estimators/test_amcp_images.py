"""AMCP on sets of images, with small networks that were never trained."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SETTINGS = {
    "convolutions": (4, 8),
    "columns": 4,
    "embedding": 8,
    "set_statistics": False,
    "width": 16,
    "heads": 2,
    "references": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "encode_every": 0,
    "proposal": "anchor",
    "read_width": 8,
    "k_max": 8,
    "least_share": 0.03,
}


def save_weights(folder, image, **changes):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("amcp", {**SETTINGS, "image": image, **changes})
    path = folder / f"{image[0]}.safetensors"
    save_system(path, system.eval(), make_card(system))
    return str(path)


@pytest.fixture(scope="module")
def grey(tmp_path_factory) -> str:
    return save_weights(tmp_path_factory.mktemp("weights"), (1, 12, 12))


@pytest.fixture(scope="module")
def colour(tmp_path_factory) -> str:
    return save_weights(tmp_path_factory.mktemp("weights"), (3, 12, 12))


@pytest.fixture(scope="module")
def images():
    """120 noisy pictures of a bar: upright, lying, or two of them; bytes (n, 12, 12)."""
    draw = np.random.default_rng(0)
    kinds = np.zeros((3, 12, 12))
    kinds[0, :, 5:7] = kinds[1, 5:7] = kinds[2, :, 2:4] = kinds[2, :, 8:10] = 200
    truth = draw.permutation(np.repeat(np.arange(3), 40))
    return np.clip(kinds[truth] + draw.normal(0, 12, (120, 12, 12)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("ending", ["auto", "network"])
def test_bytes_and_floats_are_clustered_alike_and_further_ones_labelled(grey, images, ending):
    model = coterie.AMCP(grey, ending=ending)
    labels = model.fit_predict(images)
    assert labels.shape == (120,)
    assert (coterie.AMCP(grey, ending=ending).fit_predict(images / 255) == labels).all()
    assert (model.predict(images[:7]) == labels[:7]).all()
    assert (model.predict((images / 255)[:7, ..., None]) == labels[:7]).all()
    assert model.predict_proba(images[:7]).shape == (7, model.n_clusters_)
    assert model.embed(images).shape == (120, 4)


def test_colours_last_or_first(colour, images):
    photos = np.stack([images, 255 - images, images // 2], -1)
    model = coterie.AMCP(colour).fit(photos)
    assert (model.predict(photos) == model.labels_).all()
    assert (model.predict(photos.transpose(0, 3, 1, 2)) == model.labels_).all()
    assert (
        coterie.AMCP(colour).fit_predict((photos / 255).astype(np.float32)) == model.labels_
    ).all()


def test_the_order_of_the_images_does_not_matter(grey, images):
    order = np.random.default_rng(1).permutation(len(images))
    model, turned = coterie.AMCP(grey).fit(images), coterie.AMCP(grey).fit(images[order])
    assert (turned.labels_ == model.labels_[order]).all()


def test_other_sizes_are_scaled_with_a_warning(grey, images):
    large = images.repeat(2, 1).repeat(2, 2)
    with pytest.warns(UserWarning, match="24 x 24 pixels are scaled to 12 x 12"):
        model = coterie.AMCP(grey).fit(large)
    with pytest.warns(UserWarning, match="24 x 24"):
        assert (model.predict(large) == model.labels_).all()


def test_other_numbers_of_channels_are_refused(grey, colour, images):
    with pytest.raises(ValueError, match="read images of 1 channel, X has 3"):
        coterie.AMCP(grey).fit(np.stack([images] * 3, -1))
    with pytest.raises(ValueError, match="read images of 3 channels, X has 1"):
        coterie.AMCP(colour).fit(images)
    model = coterie.AMCP(grey).fit(images)
    with pytest.raises(ValueError, match="read images of 1 channel, X has 3"):
        model.predict(np.stack([images] * 3, -1))


def test_a_model_of_images_is_saved_with_its_axes(grey, images, tmp_path):
    model = coterie.AMCP(grey).fit(images)
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    assert (again.predict(images) == model.labels_).all()
    assert np.array_equal(again.predict_proba(images), model.predict_proba(images))


def test_clusters_that_leak_into_each_other_are_joined(images, tmp_path):
    """To an encoder that was never trained all images are alike; told three, it has the kinds."""
    weights = save_weights(tmp_path, (1, 12, 12), most_leakage=0.25)
    assert coterie.AMCP(weights).fit(images).n_clusters_ == 1
    model = coterie.AMCP(weights, n_clusters=3).fit(images)
    assert sorted(np.bincount(model.labels_)) == [40, 40, 40]
    assert (model.predict(images) == model.labels_).all()


def test_weights_of_tables_have_no_vectors_of_images():
    model = coterie.AMCP("amcp-mog2d").fit(np.random.default_rng(0).normal(size=(30, 2)))
    assert not hasattr(model, "embed")


def test_drawings_of_binary_pixels_are_images_too():
    """Weights that read a table of pixels take the images themselves."""
    drawings = (np.random.default_rng(0).random((24, 28, 28)) < 0.2).astype(float)
    drawings[:12, 10:18] = 1
    model = coterie.DAC("dac-emnist").fit(drawings)
    rows = coterie.DAC("dac-emnist").fit(drawings.reshape(24, -1))
    assert (model.labels_ == rows.labels_).all()
    assert (
        model.predict((255 * drawings).astype(np.uint8)) == model.predict(drawings.reshape(24, -1))
    ).all()


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="coterie")


def test_a_folder_of_images_is_clustered_from_the_command_line(grey, images, tmp_path):
    folder = tmp_path / "bars"
    folder.mkdir()
    for number, pixels in enumerate(images[:40]):
        picture = Image.fromarray(pixels)
        if number % 4 == 0:
            picture = picture.resize((24, 24))
        picture.save(folder / f"{number:02}.png")
    options = ["--out", tmp_path / "c.csv", "--report", tmp_path / "r.html"]
    options += ["--save", tmp_path / "m.safetensors", "--n-clusters", "2:3", "--json"]
    result = run("cluster", folder, "--weights", grey, *options)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["rows"] == 40
    assert summary["n_clusters"] in (2, 3)
    assert "10 of 40 images are resized to 12 x 12 pixels, which the network reads" in " ".join(
        summary["notes"]
    )
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 41
    assert "data:image/" in (tmp_path / "r.html").read_text()
    assert coterie.load(tmp_path / "m.safetensors").predict(images[:5]).shape == (5,)
    refused = run("cluster", folder, "--weights", grey, "--columns", "a")
    assert refused.exit_code == 2
    assert "--columns does not apply to weights for images" in refused.stderr
