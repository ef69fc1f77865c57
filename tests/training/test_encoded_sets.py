import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from coterie.data.glyph_episodes import GlyphEpisodes
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.pools import open_pool
from coterie.functional.principal import LENGTH
from coterie.systems.registry import build
from coterie.training.encoded_sets import EncodedImages, EncodedSets, encoder_of
from coterie.training.image_set_recipes import IMAGE_SET_RECIPES, with_encoder
from coterie.training.trainer import train
from coterie.weights.format import load_card, load_system, make_card, save_system

SETTINGS = {"image": (1, 28, 28), "convolutions": (4, 8), "embedding": 48, "columns": 6}


@pytest.fixture
def weights(tmp_path):
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("amcp", {**SETTINGS, "width": 8, "heads": 2, "references": 2})
    path = tmp_path / "encoder.safetensors"
    save_system(path, system.eval(), make_card(system))
    return str(path)


def source(weights, **changes):
    episodes = GlyphEpisodes("mnist-even", n_max=40, k_max=4)
    return replace(EncodedSets(episodes, weights, 6, 1.3, bank=6), **changes)


def drawn(sets, n_sets=12, seed=0):
    return sets.sample(n_sets, torch.Generator().manual_seed(seed))


def test_sets_are_parts_of_a_bank_on_their_own_axes(weights):
    batch = drawn(source(weights))
    assert batch.points.shape == (12, 40, 6)
    assert (batch.points[~batch.mask] == 0).all()
    assert (batch.labels[~batch.mask] == -1).all()
    assert (batch.labels[batch.mask] >= 0).all()
    assert int(batch.mask.sum(1).min()) < 30
    moments = batch.points.transpose(1, 2) @ batch.points  # of axes: nearly no products
    apart = moments - torch.diag_embed(moments.diagonal(dim1=1, dim2=2))
    assert apart.abs().max() < 0.02 * moments.abs().max()


def test_the_same_seeds_draw_the_same_sets(weights):
    one, other = drawn(source(weights)), drawn(source(weights))
    assert torch.equal(one.points, other.points)
    assert not torch.equal(drawn(source(weights), seed=1).points, one.points)
    assert not torch.equal(drawn(source(weights, seed=1)).points, one.points)


def test_whole_sets_are_those_that_the_system_would_learn_from(weights):
    """Up to the signs of the axes and the order of the points, with nothing stretched."""
    sets = source(weights, looseness=0.0, bank=1, least=1.0)
    batch = drawn(sets, n_sets=1)
    system = load_system(Path(weights))[0]
    whole = replace(sets.episodes, least=1.0).sample(1, torch.Generator().manual_seed(0))
    encoded = system.as_vectors(whole)
    assert torch.equal(batch.labels.sort().values, whole.labels.sort().values)
    here, there = (each.points[0] @ each.points[0].T for each in (batch, encoded))
    torch.testing.assert_close(
        here.diagonal().sort().values, there.diagonal().sort().values, atol=0.02, rtol=0
    )
    torch.testing.assert_close(
        here.sum(1).sort().values, there.sum(1).sort().values, atol=1.0, rtol=0.01
    )


def test_photographs_that_a_set_lacks_stay_out(weights):
    """Sets of balanced classes have fewer images than places, and no view but the image."""
    recipe = with_encoder(IMAGE_SET_RECIPES["dac-mlf-tinyimagenet"](), weights)
    assert recipe.prior.episodes.views is None
    assert "up to 1600 images" in recipe.trained_on
    episodes = ImageEpisodes("mnist-even", n_max=40, k_max=4, images_per_class=10, hidden=0.5)
    batch = drawn(EncodedImages(episodes, weights, 6, 1.3))
    assert torch.equal(batch.mask, batch.labels >= 0)
    sizes = batch.mask.sum(1)
    assert int(sizes.min()) < 30 <= int(sizes.max())
    assert (batch.points[~batch.mask] == 0).all()


def test_vectors_may_have_one_length_on_their_axes(weights):
    episodes = ImageEpisodes("mnist-even", n_max=30, k_max=4, concentration=5)
    batch = drawn(EncodedImages(episodes, weights, 6, 1.3, spherical=True))
    lengths = batch.points[batch.mask].norm(dim=-1)
    assert torch.allclose(lengths, torch.full_like(lengths, LENGTH), atol=1e-5)
    assert (batch.points[~batch.mask] == 0).all()


def test_images_encoded_once_are_those_that_would_be_drawn(weights):
    """Up to the signs of the axes, with nothing stretched."""
    episodes = ImageEpisodes("mnist-even", n_max=30, k_max=4, concentration=5)
    batch = drawn(EncodedImages(episodes, weights, 6, 0.0), n_sets=2)
    shown = episodes.sample(2, torch.Generator().manual_seed(0))
    encoded = load_system(Path(weights))[0].as_vectors(shown)
    assert torch.equal(batch.labels, shown.labels)
    for here, there, mask in zip(batch.points, encoded.points, shown.mask, strict=True):
        here, there = here[mask], there[mask]
        torch.testing.assert_close(here @ here.T, there @ there.T, atol=0.1, rtol=0)


def test_images_that_are_changed_for_each_set_are_not_encoded_once():
    with pytest.raises(ValueError, match="cannot be encoded once"):
        EncodedImages(ImageEpisodes("mnist-even", 30, 4, symmetries=8), "", 6, 0.0)


def test_the_vectors_of_a_network_without_classes_are_centred(tmp_path):
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    settings = {"backbone": "small", "mean": (0.13,), "std": (0.31,), "shape": (28, 28), "queue": 8}
    moco = build("moco", settings)
    path = tmp_path / "moco.safetensors"
    save_system(path, moco.eval(), make_card(moco))
    encoder = encoder_of(str(path), "mnist-even")
    images = torch.from_numpy(open_pool("mnist-even").images[::30]).float() / 255
    with torch.no_grad():
        centred, plain = encoder(images), moco.pair.teacher.features(images)
    mean = torch.nn.functional.normalize(plain, dim=-1).mean(0)
    assert mean.norm() > 0.9  # all on one side
    assert centred.mean(0).norm() < 0.3 * centred.norm(dim=-1).mean()
    torch.testing.assert_close(encoder.centre, mean, atol=0.01, rtol=0)


def test_the_recipe_learns_from_them_and_keeps_the_encoder(weights, tmp_path):
    recipe = with_encoder(IMAGE_SET_RECIPES["amcp-mnist-frozen"](), weights)
    assert recipe.prior.encoder == weights
    narrow = {"columns": 6, "width": 16, "heads": 2, "references": 4, "read_width": 8}
    recipe = replace(
        recipe,
        settings={**recipe.settings, **narrow},
        prior=source(weights, episodes=replace(recipe.prior.episodes, n_max=40)),
        training=replace(recipe.training, steps=3, sets_per_step=2),
    )
    system = train(recipe, tmp_path / "run", accelerator="cpu")
    known = load_system(Path(weights))[0].item_encoder.state_dict()
    for name, value in system.item_encoder.state_dict().items():
        assert torch.equal(value, known[name]), name
    card = load_card(tmp_path / "run" / "weights.safetensors")
    assert card.traits.item_shape == (1, 28, 28)
    assert card.traits.most_leakage
