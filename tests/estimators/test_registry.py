import numpy as np
import pytest

import coterie
from coterie.estimators.amcp import AMCP
from coterie.estimators.registry import cluster
from coterie.metrics import ari


def test_one_call_gives_the_labels(blobs):
    labels = coterie.cluster(blobs.points)
    assert labels.shape == (300,)
    assert ari(blobs.labels, labels) == 1


def test_settings_are_those_of_the_estimator(blobs):
    settings = {"ending": "network", "context_size": 60, "random_state": 1}
    assert (cluster(blobs.points, **settings) == AMCP(**settings).fit_predict(blobs.points)).all()


def test_unknown_settings_are_refused(blobs):
    with pytest.raises(TypeError, match="n_groups"):
        cluster(blobs.points, n_groups=3)


def test_input_is_left_alone(blobs):
    points = np.array(blobs.points)
    cluster(points)
    assert (points == blobs.points).all()


def test_no_weights_and_no_device_are_refused_in_words(blobs):
    with pytest.raises(ValueError, match="weights must be a shipped model's name"):
        cluster(blobs.points, weights=None)
    with pytest.raises(ValueError, match="no device 'banana' here"):
        cluster(blobs.points, device="banana")
