"""What an estimator says of the number of clusters: later, once, and the same each time."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import coterie
from coterie.estimators import answers as base

WEIGHTS = ["amcp-mog2d", "amcp-warped2d"]
BOTH = pytest.mark.parametrize("weights", WEIGHTS)


@BOTH
def test_the_places_of_a_read_only_array_are_numbers_of_clusters(blobs, weights):
    belief = coterie.AMCP(weights).fit(blobs.points).k_probabilities_
    assert belief.ndim == 1
    assert belief[0] == 0
    assert belief.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="read-only"):
        belief[3] = 1


def test_three_clusters_that_nobody_can_miss_are_believed_in(blobs):
    for model in (coterie.AMCP(), coterie.AMCP("amcp-mog2d"), coterie.DAC()):
        assert model.fit(blobs.points).k_probabilities_[3] > 0.7


def test_two_clusters_in_one_another_are_believed_in_less():
    points = np.random.default_rng(0).normal(scale=0.25, size=(300, 2))
    points[:150, 0] += 0.57  # a little more than two deviations
    belief = coterie.AMCP("amcp-mog2d").fit(points).k_probabilities_
    assert 0.02 < belief[1] < 0.98
    assert 0.02 < belief[2] < 0.98


def test_nothing_is_computed_before_somebody_asks_and_nothing_twice(blobs, monkeypatch):
    asked = []

    def counted(record):
        asked.append(record)
        return np.array([0.0, 1.0])

    monkeypatch.setattr(base, "k_probabilities", counted)
    model = coterie.AMCP("amcp-mog2d").fit(blobs.points)
    model.predict(blobs.points)
    assert len(asked) == 0
    assert model.k_probabilities_ is not None
    assert model.k_probabilities_ is not None
    assert len(asked) == 1
    model.fit(blobs.points)
    assert model.k_probabilities_ is not None
    assert len(asked) == 2


def test_before_the_fit_there_is_none(blobs):
    model = coterie.AMCP("amcp-mog2d")
    assert not hasattr(model, "k_probabilities_")
    with pytest.raises(NotFittedError):
        _ = model.k_probabilities_
    assert not hasattr(clone(model.fit(blobs.points)), "k_probabilities_")


@BOTH
@pytest.mark.parametrize("asked_before", [True, False])
def test_it_survives_on_disk(blobs, tmp_path, weights, asked_before):
    model = coterie.AMCP(weights).fit(blobs.points)
    if asked_before:
        assert model.k_probabilities_ is not None
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(again.k_probabilities_, model.k_probabilities_)
        assert not again.k_probabilities_.flags.writeable


@BOTH
def test_the_order_of_the_rows_is_no_matter(blobs, weights):
    order = np.random.default_rng(0).permutation(len(blobs.points))
    belief = coterie.AMCP(weights).fit(blobs.points).k_probabilities_
    again = coterie.AMCP(weights).fit(blobs.points[order]).k_probabilities_
    np.testing.assert_allclose(again, belief, atol=1e-9)


def test_of_a_sample_it_is_as_random_as_the_sample(blobs):
    def belief(seed):
        model = coterie.AMCP("amcp-warped2d", context_size=60, random_state=seed)
        return model.fit(blobs.points).k_probabilities_

    np.testing.assert_array_equal(belief(0), belief(0))


def test_what_is_set_after_the_fit_changes_nothing(blobs):
    model = coterie.AMCP("amcp-mog2d").fit(blobs.points)
    belief = coterie.AMCP("amcp-mog2d").fit(blobs.points).k_probabilities_
    model.set_params(weights="nowhere.safetensors", n_clusters=7, ending="network")
    np.testing.assert_array_equal(model.k_probabilities_, belief)


@BOTH
def test_the_number_that_was_asked_for_is_kept(blobs, weights):
    bounded = coterie.AMCP(weights, n_clusters=(4, 6)).fit(blobs.points).k_probabilities_
    assert bounded[:4].sum() == 0
    assert len(bounded) <= 7
    assert coterie.AMCP(weights, n_clusters=2).fit(blobs.points).k_probabilities_[2] == 1


@BOTH
@pytest.mark.parametrize("points", [np.full((1, 2), 3.0), np.ones((30, 2)), np.eye(2)])
def test_odd_tables_have_one_too(weights, points):
    belief = coterie.AMCP(weights).fit(points).k_probabilities_
    assert belief.sum() == pytest.approx(1)
    assert len(belief) <= len(points) + 1


def test_weights_of_the_rows_count(blobs):
    counts = np.where(blobs.labels == 2, 0, 1)
    model = coterie.AMCP("amcp-mog2d").fit(blobs.points, sample_weight=counts)
    assert model.k_probabilities_[2] > 0.9
