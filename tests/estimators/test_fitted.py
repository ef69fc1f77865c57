import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from coterie.estimators.fitted import Fitted
from coterie.estimators.registry import clusterer
from coterie.frames.plain import PlainColumns
from coterie.frames.standard import StandardColumns

# A mixture, replayed steps, the steps of a network without a density, neighbours.
MODELS = {
    "mixture": ("dac-mog2d", {}),
    "noisy mixture": ("amcp-mog2d", {"noise": True}),
    "replay": ("amcp-mog2d", {"ending": "network"}),
    "without a density": ("amcp-warped2d", {"noise": True}),
    "neighbours": ("amcp-universal-small", {}),
    "merged": ("amcp-universal-small", {"n_clusters": 2}),
    "cut": ("amcp-mog2d", {"n_clusters": 5}),
}
EVERY = pytest.mark.parametrize("kind", MODELS)


def fit(kind, points, **settings):
    weights, own = MODELS[kind]
    return clusterer(weights, random_state=0, **own, **settings).fit(points)


@pytest.fixture(scope="module")
def new():
    """Points on and between the blobs, and one that is far from everything."""
    random = np.random.default_rng(0)
    return np.concatenate([random.uniform(-6, 7, (60, 2)), [[60.0, -70.0]]])


@EVERY
def test_it_predicts_as_its_estimator_does(kind, blobs, new):
    model = fit(kind, blobs.points)
    assert isinstance(model.fitted_, Fitted)
    assert model.fitted_.n_clusters == model.n_clusters_
    for points in (blobs.points, new, new[:1]):
        np.testing.assert_array_equal(model.fitted_.predict(points), model.predict(points))
        np.testing.assert_array_equal(
            model.fitted_.predict_proba(points), model.predict_proba(points)
        )
    np.testing.assert_array_equal(model.fitted_.predict(blobs.points), model.labels_)
    np.testing.assert_allclose(
        model.fitted_.predict_proba(blobs.points), model.probabilities_, atol=1e-9
    )


@EVERY
def test_it_needs_nothing_but_itself(kind, blobs, new):
    model = fit(kind, blobs.points)
    labels, probabilities = model.predict(new), model.predict_proba(new)
    written = pickle.dumps(model.fitted_)
    del model
    again = pickle.loads(written)
    np.testing.assert_array_equal(again.predict(new), labels)
    np.testing.assert_array_equal(again.predict_proba(new), probabilities)


def test_noise_is_labelled_where_it_was_asked_for(blobs):
    far = [[60.0, -70.0]]
    noisy, plain = (fit(kind, blobs.points).fitted_ for kind in ("noisy mixture", "mixture"))
    assert (noisy.noise, plain.noise) == (True, False)
    assert noisy.predict(np.array(far)).tolist() == [-1]
    assert plain.predict(np.array(far))[0] >= 0
    assert noisy.predict_proba(np.array(far)).sum() == pytest.approx(1)


@EVERY
def test_it_does_not_grow_with_the_rows(kind, blobs):
    few, many = np.repeat(blobs.points, 4, 0), np.repeat(blobs.points, 100, 0)
    sizes = [
        len(pickle.dumps(fit(kind, points, context_size=300).fitted_)) for points in (few, many)
    ]
    # The context may have other points, and their number a few more bytes.
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_a_mixture_is_a_handful_of_numbers(blobs):
    assert len(pickle.dumps(fit("mixture", blobs.points).fitted_)) < 4_000


def test_a_frame_is_that_of_the_weights(blobs):
    assert isinstance(fit("mixture", blobs.points).fitted_.frame, PlainColumns)
    assert isinstance(fit("neighbours", blobs.points).fitted_.frame, StandardColumns)


def test_rows_are_framed_when_they_are_read(blobs):
    fitted = fit("neighbours", blobs.points).fitted_
    points = fitted.points(blobs.points)
    assert len(points) == 300
    np.testing.assert_array_equal(points[4:9], fitted.frame(blobs.points[4:9]))


def test_tables_on_disk_are_predicted_as_those_in_memory(blobs, tmp_path):
    np.save(tmp_path / "table.npy", blobs.points)
    stored = np.load(tmp_path / "table.npy", mmap_mode="r")
    fitted = fit("mixture", blobs.points).fitted_
    np.testing.assert_array_equal(fitted.predict(stored), fitted.predict(blobs.points))


def test_it_is_frozen_and_survives_the_next_fit(blobs, new):
    model = fit("mixture", blobs.points)
    fitted, labels = model.fitted_, model.predict(new)
    with pytest.raises(FrozenInstanceError):
        fitted.noise = True
    model.fit(blobs.points[blobs.labels == 0])
    assert model.fitted_ is not fitted
    np.testing.assert_array_equal(fitted.predict(new), labels)
