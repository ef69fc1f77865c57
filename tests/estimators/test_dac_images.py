"""DAC on sets of images, with a small network that was never trained."""

import numpy as np
import pytest
import torch

import coterie
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SETTINGS = {
    "filtering": "anchored",
    "density": None,
    "image": (1, 12, 12),
    "convolutions": (4, 8),
    "columns": 8,
    "width": 16,
    "heads": 2,
    "slots": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 1,
    "read_width": 8,
    "comparison": True,
    "refinements": 1,
    "encode_once": True,
    "k_max": 8,
    "least_members": 3,
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> str:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("dac", SETTINGS)
        with torch.no_grad():
            system.network.offset.fill_(-4.5)
    path = tmp_path_factory.mktemp("weights") / "images.safetensors"
    save_system(path, system.eval(), make_card(system))
    return str(path)


@pytest.fixture(scope="module")
def images():
    """120 noisy pictures of a bar: upright, lying, or two of them; bytes (n, 12, 12)."""
    draw = np.random.default_rng(0)
    kinds = np.zeros((3, 12, 12))
    kinds[0, :, 5:7] = kinds[1, 5:7] = kinds[2, :, 2:4] = kinds[2, :, 8:10] = 200
    truth = draw.permutation(np.repeat(np.arange(3), 40))
    return np.clip(kinds[truth] + draw.normal(0, 12, (120, 12, 12)), 0, 255).astype(np.uint8)


def test_images_are_clustered_and_further_ones_are_labelled(weights, images):
    model = coterie.DAC(weights).fit(images)
    assert model.labels_.shape == (120,)
    assert model.n_features_in_ == 144
    assert (model.predict(images) == model.labels_).all()
    assert (model.predict(images[:7]) == model.labels_[:7]).all()
    assert model.predict_proba(images[:7]).shape == (7, model.n_clusters_)
    assert (model.predict(images.reshape(120, 144) / 255) == model.labels_).all()
    assert np.isclose(model.k_probabilities_.sum(), 1)


def test_the_order_of_the_images_does_not_matter(weights, images):
    order = np.random.default_rng(1).permutation(len(images))
    model = coterie.DAC(weights, anchor="promise").fit(images)
    turned = coterie.DAC(weights, anchor="promise").fit(images[order])
    assert (turned.labels_ == model.labels_[order]).all()


def test_the_seed_draws_the_anchors(weights, images):
    first, again = (coterie.DAC(weights, random_state=1).fit(images) for _ in range(2))
    assert (first.labels_ == again.labels_).all()
    assert len(first.trace_) == len(again.trace_)


def test_own_statistics_change_how_an_image_is_seen(weights, images):
    own = coterie.DAC(weights).fit(images)
    trained = coterie.DAC(weights, own_statistics=False).fit(images)
    few = coterie.DAC(weights).fit(images[:10])  # too few to have statistics
    rows = (images[:3] / 255).reshape(3, -1)
    seen = [model.fitted_.frame(rows) for model in (own, trained, few)]
    assert np.abs(seen[0] - seen[1]).max() > 0.1
    assert np.array_equal(seen[1], seen[2])


def test_a_model_of_images_is_saved_and_read_again(weights, images, tmp_path):
    model = coterie.DAC(weights).fit(images)
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    assert (again.predict(images) == model.labels_).all()
    assert np.array_equal(again.predict_proba(images), model.predict_proba(images))
    with pytest.raises(ValueError, match="X has 3"):
        again.predict(np.zeros((2, 12, 12, 3)))


def test_other_sizes_are_scaled_with_a_warning(weights, images):
    large = images.repeat(4, 1).repeat(4, 2)
    with pytest.warns(UserWarning, match="48 x 48 pixels are scaled to 12 x 12"):
        model = coterie.DAC(weights).fit(large)
    with pytest.warns(UserWarning, match="48 x 48"):
        assert (model.predict(large) == model.labels_).all()


def test_dark_ink_is_inverted_with_a_warning_and_so_are_later_images(weights, images):
    model = coterie.DAC(weights).fit(images)
    with pytest.warns(UserWarning, match="most pixels are bright: the images are inverted"):
        negative = coterie.DAC(weights).fit(255 - images)
    assert (negative.labels_ == model.labels_).all()
    assert (negative.predict(255 - images[:3]) == model.labels_[:3]).all()


def test_what_the_network_cannot_read_is_refused(weights, images):
    with pytest.raises(ValueError, match="read images of 1 channel, X has 3"):
        coterie.DAC(weights).fit(np.zeros((20, 3, 12, 12)))
    with pytest.raises(ValueError, match="144 numbers a row; X has 10"):
        coterie.DAC(weights).fit(np.zeros((20, 10)))
    with pytest.raises(ValueError, match="do not apply to images"):
        coterie.DAC(weights, columns=["a"]).fit(images)


def test_restarts_and_anchors(weights, images):
    assert coterie.DAC(weights, anchor="random", n_restarts=3).fit(images).n_clusters_ >= 1
    with pytest.raises(ValueError, match="n_restarts"):
        coterie.DAC(weights, n_restarts=0).fit(images)
    with pytest.raises(ValueError, match='anchor needs filtering="anchored"'):
        coterie.DAC(anchor="promise").fit(np.zeros((20, 2)))


def test_constraints_hold_for_images(weights, images):
    model = coterie.DAC(weights, n_clusters=3, min_cluster_size=5).fit(images)
    assert model.n_clusters_ == 3
    assert np.bincount(model.labels_).min() >= 5
