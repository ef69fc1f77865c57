"""Features: silhouettes against scikit-learn, no units, and names for all of them."""

import numpy as np
import pytest
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from coterie.frames.standard import fit_standard
from coterie.judge.candidates import Candidate
from coterie.judge.features import feature_names, weigh
from coterie.judge.views import turn


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + 4 * rng.integers(0, 3, size=(300, 1))


def evidence_on(table):
    units = fit_standard(table, 16).in_units(table)
    turned = turn(units, 16)
    labels = np.digitize(turned[:, 0], np.quantile(turned[:, 0], [0.3, 0.6])).astype(np.int16)
    candidates = [
        Candidate("net", "all", 4, 0, labels, 0.9),
        Candidate("kmeans", "all", 4, -1, (labels > 0).astype(np.int16)),
        Candidate("full", "axes2", 2, 0, np.zeros(300, np.int16)),
    ]
    return turned, candidates, weigh(units, turned, candidates)


def test_silhouette_and_variance_ratio_are_scikit_learns(table):
    turned, candidates, evidence = evidence_on(table)
    names = feature_names()
    assert evidence.features.shape == (3, len(names))
    for number in (0, 1):
        labels = candidates[number].labels
        own = dict(zip(names, evidence.features[number], strict=True))
        assert own["silhouette"] == pytest.approx(silhouette_score(turned, labels), abs=1e-4)
        ratio = calinski_harabasz_score(turned, labels)
        assert own["log Calinski-Harabasz"] == pytest.approx(np.log1p(ratio), rel=1e-3)


def test_units_and_order_of_columns_do_not_matter(table):
    _, _, plain = evidence_on(table)
    _, _, other = evidence_on((table * [1.0, 100.0, 0.01, 3.0] + 7)[:, [2, 0, 3, 1]])
    np.testing.assert_allclose(other.features, plain.features, atol=2e-3)


def test_one_cluster_gains_nothing(table):
    _, _, evidence = evidence_on(table)
    own = dict(zip(feature_names(), evidence.features[2], strict=True))
    assert own["one"] == 1
    assert own["gain of full Gaussians"] == pytest.approx(0, abs=0.05)
