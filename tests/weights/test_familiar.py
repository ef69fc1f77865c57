"""Data of a size that a network has never seen are named; those like in training are not."""

import warnings

import numpy as np
import pytest

import coterie
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.weights.catalogue import models
from coterie.weights.familiar import Span, size_of, sizes_of, unfamiliar


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
    named = [
        each for each in heard if "unlike what the network was trained on" in str(each.message)
    ]
    assert bool(named) == strange
    assert any("root mean square" in note for note in model.clustering_.warnings) == strange


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_weights_that_scale_the_columns_know_every_size(blobs, factor):
    model = coterie.AMCP("amcp-universal").fit(factor * blobs.points + 5 * factor)
    assert not model.clustering_.warnings


def test_without_a_span_nothing_is_strange():
    assert unfamiliar(np.full((3, 2), 1e9), None) == ()
    assert unfamiliar(np.full((3, 2), 1e9), Span(0.5, 7.0)) != ()


def test_shipped_networks_that_read_columns_as_they_are_have_a_span():
    for model in models():
        assert (model.card.sizes is not None) == (model.card.scaling == "none"), model.name
