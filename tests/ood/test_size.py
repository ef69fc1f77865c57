"""Data such as a network has never seen are named; those like in training are not."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs, make_moons

import coterie
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.ood.size import Span, size_of, size_warnings, sizes_of, texture_warnings
from coterie.weights.catalogue import models, open_model
from coterie.weights.format import save_system


def test_the_size_is_the_root_of_the_mean_square():
    assert size_of(np.array([[3.0, 4.0], [0.0, 5.0]])) == pytest.approx(np.sqrt(50 / 4))
    assert size_of(np.full((5, 2), 1e30, dtype=np.float32)) == pytest.approx(1e30)


def test_nearly_all_sets_of_a_prior_lie_in_its_span():
    prior = MixtureOfGaussians(n_max=200, k_max=4)
    low, high = sizes_of(prior)
    assert 0 < low < high
    # One cluster of scale 0.25 at a place of scale 3, in two columns.
    assert low > 0.2
    assert high < 15
    assert sizes_of(prior) == (low, high)
    assert sizes_of(prior, seed=1) == pytest.approx((low, high), rel=0.3)


@pytest.mark.parametrize(
    ("factor", "shift", "strange"),
    [(1, 0, False), (2, 0, False), (1, 3, False), (1e-3, 0, True), (1, 20, True), (1e3, 0, True)],
)
def test_only_data_far_from_those_of_training_are_named(blobs, factor, shift, strange):
    table = factor * blobs.points + shift
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = coterie.AMCP("amcp-mog2d").fit(table)
    named = [each for each in heard if "unlike the training sets" in str(each.message)]
    assert bool(named) == strange
    assert any("root mean square" in note for note in model.clustering_.warnings) == strange


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_weights_that_scale_the_columns_know_every_size(blobs, factor):
    model = coterie.AMCP("amcp-universal").fit(factor * blobs.points + 5 * factor)
    assert not model.clustering_.warnings


def test_without_a_span_nothing_is_strange():
    assert size_warnings(np.full((3, 2), 1e9), None) == ()
    assert size_warnings(np.full((3, 2), 1e9), Span(0.5, 7.0)) != ()


def test_shipped_networks_that_read_columns_as_they_are_have_a_span():
    for model in models():
        plain = model.card.traits.frame == "plain" and not model.card.traits.reads_images
        assert (model.card.sizes is not None) == plain, model.name


def noise():
    return np.random.default_rng(0).uniform(size=(500, 16))


def lattice():
    return np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), -1).reshape(-1, 2)


def cauchy():
    return np.random.default_rng(0).standard_cauchy(size=(600, 4))


def remarks(table, weights="amcp-universal", **settings):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = coterie.AMCP(weights, **settings).fit(table)
    said = [str(each.message) for each in heard]
    assert list(model.clustering_.warnings) == said
    return [each for each in said if "unlike the training sets" in each]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (noise, "no near neighbour"),
        (lattice, "as on a grid"),
        (cauchy, "far outliers in every direction"),
    ],
)
def test_data_that_lie_as_none_in_training_are_named(draw, said):
    heard = remarks(draw())
    (remark,) = [each for each in heard if "clusters were found" not in each]  # those are too many
    assert said in remark
    assert "compare them with another method" in remark


@pytest.mark.parametrize(
    "draw",
    [
        lambda: load_wine().data,
        lambda: load_iris().data,
        lambda: load_breast_cancer().data,
        lambda: make_moons(300, noise=0.06, random_state=0)[0],
        lambda: make_blobs(300, n_features=12, centers=4, random_state=0)[0],
        lambda: np.random.default_rng(0).normal(size=(300, 5)),
        lambda: np.random.default_rng(0).normal(size=(40, 16)),  # too few to tell
        lambda: np.ones((200, 2)),
    ],
    ids=["wine", "iris", "cancer", "moons", "blobs", "one blob", "forty rows", "equal rows"],
)
def test_ordinary_data_are_not(draw):
    assert remarks(draw()) == []


@pytest.fixture(scope="module")
def taught_two(tmp_path_factory):
    """The same network, as if no set of its training had had more than two clusters."""
    network, card = open_model("amcp-universal")
    path = tmp_path_factory.mktemp("weights") / "two.safetensors"
    settings = {**card.settings, "k_max": 2}
    save_system(
        path, network, replace(card, settings=settings, traits=replace(card.traits, k_max=2))
    )
    return path


def test_more_clusters_than_in_training_are_named(taught_two, blobs):
    (remark,) = remarks(blobs.points, taught_two)
    assert "3 clusters were found, training sets had at most 2" in remark


@pytest.mark.parametrize("wish", [3, (3, 5), 2])
def test_nobody_is_told_of_clusters_that_they_wished_for(taught_two, blobs, wish):
    assert remarks(blobs.points, taught_two, n_clusters=wish) == []


def test_without_limits_no_texture_is_strange():
    assert texture_warnings(lattice(), None) == ()


def test_shipped_networks_that_have_frames_of_their_own_have_limits():
    for model in models():
        assert (model.card.texture is not None) == (model.card.traits.frame == "standard"), (
            model.name
        )


class Wide:
    """Sets of many columns; it remembers how many were drawn."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def sample(self, n_sets, generator):
        self.drawn.append(n_sets)
        points = torch.randn(n_sets, 50, 4_000, generator=generator)
        return SetBatch(points, torch.ones(n_sets, 50, dtype=torch.bool))


def test_of_wide_sets_fewer_are_drawn():
    prior = Wide()
    low, high = sizes_of(prior)
    assert max(prior.drawn) == 200
    assert low == pytest.approx(1, abs=0.02)
    assert high == pytest.approx(1, abs=0.02)
