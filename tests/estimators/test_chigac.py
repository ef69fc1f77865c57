"""The estimator of CHiGac on weights after seconds of training."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

import coterie
from coterie.estimators.registry import clusterer
from coterie.inference.rules.partition import PartitionRule
from coterie.inference.rules.replay import ReplayRule
from coterie.metrics import ari
from coterie.systems.registry import build
from coterie.weights.format import WeightsError, make_card, save_system


@pytest.fixture(scope="module")
def few(blobs):
    """Sixty rows of three clusters that nobody can miss."""
    return blobs.points[::5], blobs.labels[::5]


@pytest.fixture(scope="module")
def model(tiny_chigac, few):
    return coterie.CHiGac(tiny_chigac, random_state=0).fit(few[0])


def test_it_finds_clusters(model, tiny_chigac, few):
    assert ari(few[1], model.labels_) > 0.8
    assert isinstance(model.fitted_.rule, PartitionRule)
    own = coterie.CHiGac(tiny_chigac, ending="network", random_state=0).fit(few[0])
    assert ari(few[1], own.labels_) > 0.8
    assert isinstance(own.fitted_.rule, ReplayRule)


def test_labels_are_those_of_prediction(model, few):
    points, _ = few
    assert (model.predict(points) == model.labels_).all()
    np.testing.assert_allclose(model.predict_proba(points), model.probabilities_, atol=1e-12)
    np.testing.assert_allclose(model.probabilities_.sum(1), 1)


def test_the_order_of_the_rows_does_not_matter(model, tiny_chigac, few):
    points, _ = few
    order = np.random.default_rng(0).permutation(len(points))
    again = coterie.CHiGac(tiny_chigac, random_state=0).fit(points[order])
    assert (model.labels_[order] == again.labels_).all()


def test_the_seed_decides_on_the_draws(tiny_chigac, few):
    models = [
        coterie.CHiGac(tiny_chigac, ending="network", random_state=seed).fit(few[0])
        for seed in (0, 0, 1)
    ]
    probabilities = [model.predict_proba(few[0]) for model in models]
    np.testing.assert_allclose(probabilities[0], models[1].probabilities_, atol=1e-12)
    assert not np.allclose(probabilities[1], probabilities[2], atol=1e-12)


def test_weights_find_their_estimator(tiny_chigac):
    assert isinstance(clusterer(tiny_chigac), coterie.CHiGac)
    with pytest.raises(ValueError, match=r"of the system 'dac', CHiGac needs 'chigac'"):
        coterie.CHiGac("dac-mog2d").fit(np.zeros((4, 2)))


def test_other_endings_are_refused(tiny_chigac, few):
    with pytest.raises(ValueError, match="needs clusters with a Gaussian density"):
        coterie.CHiGac(tiny_chigac, ending="em").fit(few[0])


def test_saved_and_loaded_it_predicts_the_same(model, few, tmp_path):
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    assert isinstance(again, coterie.CHiGac)
    assert again.n_samples == 16
    np.testing.assert_array_equal(again.predict_proba(few[0]), model.predict_proba(few[0]))
    with pytest.raises(AttributeError, match="this model was loaded"):
        _ = again.bound_


def test_the_number_of_clusters_can_be_given(tiny_chigac, few):
    for k in (1, 2, 5):
        assert coterie.CHiGac(tiny_chigac, n_clusters=k).fit(few[0]).n_clusters_ == k


# The bound of what was found.


@pytest.mark.parametrize("inference", ["ai", "semi-ai", "svi-ai", "eai"])
def test_the_bound_is_that_of_the_strategy(tiny_chigac, few, inference):
    model = coterie.CHiGac(tiny_chigac, inference=inference, random_state=0).fit(few[0])
    assert model.bound_ < 0
    assert model.bound_ == model.bound_


def test_ergodic_inference_has_a_tighter_bound(tiny_chigac, few):
    bounds = {
        name: coterie.CHiGac(tiny_chigac, inference=name, random_state=0).fit(few[0]).bound_
        for name in ("ai", "eai")
    }
    assert bounds["ai"] < bounds["eai"]


def test_iterative_inference_needs_weights_trained_with_it(tiny_chigac, few):
    with pytest.raises(WeightsError, match="were trained with inference='ai', this is 'iai'"):
        coterie.CHiGac(tiny_chigac, inference="iai").fit(few[0])
    with pytest.raises(ValueError, match="'inference' parameter of CHiGac must be a str among"):
        coterie.CHiGac(tiny_chigac, inference="mcmc").fit(few[0])


def test_weights_of_iterative_inference_have_a_bound_and_know_no_other(few, tmp_path):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"width": 16, "heads": 2, "slots": 4, "latent": 8, "read_width": 8}
        network = build("chigac", {**sizes, "inference": "iai", "inner_steps": 2})
    path = tmp_path / "iai.safetensors"
    save_system(path, network.eval(), make_card(network))
    model = coterie.CHiGac(path, inference="iai", random_state=0).fit(few[0])
    assert model.bound_ < 0
    with pytest.raises(WeightsError, match="were trained with inference='iai', this is 'eai'"):
        coterie.CHiGac(path).fit(few[0])


# Joint draws.


def test_partitions_are_drawn_jointly(model, few):
    draws = model.sample_partitions(30, random_state=1)
    assert draws.shape == (30, 60)
    assert np.mean([ari(few[1], draw) for draw in draws]) > 0.5
    assert np.array_equal(draws, model.sample_partitions(30, random_state=1))
    assert not np.array_equal(draws, model.sample_partitions(30, random_state=2))
    for draw in draws:  # numbered without gaps, within each draw
        assert set(draw) == set(range(draw.max() + 1))


def test_rows_that_were_not_fitted_are_a_set_of_their_own(tiny_chigac, few):
    points, truth = few
    fresh = coterie.CHiGac(tiny_chigac)
    draws = fresh.sample_partitions(points, 8, random_state=0)
    assert draws.shape == (8, len(points))
    assert np.mean([ari(truth, draw) for draw in draws]) > 0.5
    assert not hasattr(fresh, "labels_")
    named = fresh.sample_partitions(pd.DataFrame(points, columns=["a", "b"]), 8, random_state=0)
    assert np.array_equal(draws, named)


def test_many_draws_are_made_in_parts(model, few, monkeypatch):
    monkeypatch.setattr("coterie.inference.samples.DRAWN_AT_ONCE", 200)
    assert model.sample_partitions(10, random_state=0).shape == (10, 60)


def test_fitted_rows_that_were_only_sampled_have_no_joint_draws(tiny_chigac, few):
    found = coterie.CHiGac(tiny_chigac, context_size=30).fit(few[0])
    with pytest.raises(ValueError, match="found on 30 of 60 rows: give the rows"):
        found.sample_partitions(3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_accepts_it(tiny_chigac):
    check_estimator(coterie.CHiGac(tiny_chigac, n_samples=2))
