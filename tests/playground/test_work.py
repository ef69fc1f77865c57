import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.estimators.registry import DEFAULT, clusterer
from coterie.playground.work import Failure, Job, do


def answer(*job, **settings):
    return json.loads(do(Job(*job, **settings)))


def test_an_answer_is_what_the_estimator_says(blobs):
    model = clusterer(DEFAULT, random_state=0).fit(blobs.points)
    told = answer(blobs.points, blobs.labels, DEFAULT, True, True)
    assert told["labels"] == model.labels_.tolist()
    assert told["n_clusters"] == model.n_clusters_
    np.testing.assert_allclose(told["probabilities"], model.probabilities_, atol=1e-5)
    np.testing.assert_allclose(told["confidence"], model.probabilities_.max(1), atol=1e-5)
    assert told["ari"] == pytest.approx(adjusted_rand_score(blobs.labels, model.labels_), abs=1e-5)
    assert [step["claimed"] for step in told["steps"]] == [s.claimed.tolist() for s in model.trace_]
    for step in told["steps"]:
        assert len(step["offered"]) == len(step["probabilities"])


def test_only_what_was_asked_for_is_told(blobs):
    told = answer(blobs.points, None, DEFAULT)
    assert told["steps"] is told["probabilities"] is told["ari"] is None


def test_points_without_a_truth_do_not_count(blobs):
    truth = blobs.labels.copy()
    truth[::3] = -1
    assert answer(blobs.points, truth, DEFAULT)["ari"] == 1.0
    assert answer(blobs.points, np.full(len(truth), -1), DEFAULT)["ari"] is None


def test_a_method_that_fails_says_why():
    failure = do(Job(np.zeros((2, 2)), None, "hdbscan"))
    assert isinstance(failure, Failure)
    assert failure.sentence.startswith("HDBSCAN cannot cluster these points")
