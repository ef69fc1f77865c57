import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from coterie.comparison.peers import (
    ALL_COVARIANCES,
    gaussian_mixture_bic,
    hdbscan,
    kmeans_silhouette,
    peers,
    standardised,
)
from coterie.metrics import ari

K_LIMIT = 5
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])


def blobs(seed=0, size=60, scale=0.25):
    noise = np.random.default_rng(seed).normal(scale=scale, size=(len(CENTRES), size, 2))
    points = (CENTRES[:, None] + noise).reshape(-1, 2).astype(np.float32)
    return points, np.repeat(np.arange(len(CENTRES)), size)


ALL_PEERS = (
    *peers(K_LIMIT),
    *map(standardised, peers(K_LIMIT, ALL_COVARIANCES)),
)


@pytest.mark.parametrize("method", ALL_PEERS, ids=lambda method: method.details)
class TestEveryPeer:
    def test_labels_every_point(self, method):
        points = np.random.default_rng(1).normal(size=(90, 2)).astype(np.float32)
        labels = method.cluster(points).labels
        assert labels.shape == (90,)
        assert labels.dtype.kind == "i"
        assert labels.min() >= 0

    def test_finds_clusters_that_are_far_apart(self, method):
        points, truth = blobs()
        assert ari(truth, method.cluster(points).labels) > 0.9

    def test_gives_the_same_answer_twice(self, method):
        points, _ = blobs(scale=1.5)
        np.testing.assert_array_equal(method.cluster(points).labels, method.cluster(points).labels)

    def test_leaves_the_points_alone(self, method):
        points, _ = blobs()
        before = points.copy()
        method.cluster(points)
        np.testing.assert_array_equal(points, before)

    def test_claims_no_network(self, method):
        assert method.cluster(blobs()[0]).network_log_likelihood is None


def test_names_differ():
    names = [method.name for method in peers(K_LIMIT)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["GaussianMixture + BIC", "BayesianGaussianMixture"])
def test_mixtures_can_say_one_cluster(name):
    (method,) = (each for each in peers(K_LIMIT) if each.name == name)
    points = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    assert len(np.unique(method.cluster(points).labels)) == 1


def test_covariances_that_fit_are_chosen():
    random = np.random.default_rng(0)
    strip = random.normal(size=(300, 2)) @ [[5.0, 5.0], [0.1, -0.1]]
    points = np.concatenate([strip, strip + np.array([4.0, -4.0])]).astype(np.float32)
    truth = np.repeat([0, 1], 300)
    assert ari(truth, gaussian_mixture_bic(points, K_LIMIT, ["full"])) > 0.95
    assert ari(truth, gaussian_mixture_bic(points, K_LIMIT, ALL_COVARIANCES)) > 0.95
    assert ari(truth, gaussian_mixture_bic(points, K_LIMIT, ["diag"])) < 0.9


def test_a_mixture_that_cannot_be_fitted_is_no_candidate(monkeypatch):
    points = np.random.default_rng(0).normal(size=(60, 2)) + 20 * (np.arange(60)[:, None] % 2)

    class Collapsing(GaussianMixture):
        def fit(self, X, y=None):
            if self.n_components > 2:
                raise ValueError("ill-defined empirical covariance")
            return super().fit(X, y)

    monkeypatch.setattr("coterie.comparison.peers.GaussianMixture", Collapsing)
    assert len(np.unique(gaussian_mixture_bic(points, 5))) == 2


def test_kmeans_never_says_one_cluster():
    points = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    assert len(np.unique(kmeans_silhouette(points, K_LIMIT))) >= 2


def test_hdbscan_gives_noise_to_the_nearest_labelled_point():
    points, truth = blobs()
    strays = np.array([[6.0, 3.0], [0.5, 9.0]], dtype=np.float32)
    labels = hdbscan(np.concatenate([points, strays]))
    assert labels[-2] == labels[np.flatnonzero(truth == 1)[0]]
    assert labels[-1] == labels[np.flatnonzero(truth == 2)[0]]


def test_hdbscan_with_nothing_but_noise_is_one_cluster():
    scattered = np.array([[0.0, 0.0], [1.0, 5.0], [9.0, 2.0], [4.0, 4.0], [7.0, 9.0]])
    np.testing.assert_array_equal(hdbscan(scattered.astype(np.float32)), 0)
