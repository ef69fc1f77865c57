import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from bench.suite import SuiteSet
from bench.supervised import by_gaussians, by_neighbours, ceiling


def mixture(n=2000, columns=2):
    """Two Gaussians that overlap, one of them slanted, with the labels of the true posterior."""
    random = np.random.default_rng(0)
    labels = (random.uniform(size=n) < 0.3).astype(int)
    means = np.zeros((2, columns))
    means[1, 0] = 2.5
    covariances = np.stack([np.eye(columns)] * 2)
    covariances[1, 0, 1] = covariances[1, 1, 0] = 0.6
    roots = np.linalg.cholesky(covariances)
    noise = random.normal(size=(n, columns))
    points = means[labels] + np.einsum("nij,nj->ni", roots[labels], noise)
    log_joint = []
    for share, mean, covariance in zip((0.7, 0.3), means, covariances, strict=True):
        offset = points - mean
        distance = np.einsum("ni,ij,nj->n", offset, np.linalg.inv(covariance), offset)
        log_joint.append(np.log(share) - 0.5 * (distance + np.log(np.linalg.det(covariance))))
    return points, labels, np.argmax(log_joint, 0)


def a_set(points, labels):
    return SuiteSet("s", "blobs", points.astype(np.float32), labels)


def test_overlapping_gaussians_have_the_ceiling_of_the_true_posterior():
    points, labels, posterior = mixture()
    expected = adjusted_rand_score(labels, posterior)
    assert expected < 0.8
    assert ceiling(a_set(points, labels)) == pytest.approx(expected, abs=0.02)


def test_gaussians_weigh_clusters_by_their_size():
    points, labels, posterior = mixture(5000)
    assert np.mean(by_gaussians(points, labels) == posterior) > 0.99


@pytest.mark.parametrize("n_neighbours", [1, 5, 15])
def test_neighbours_vote_as_those_of_scikit_learn(n_neighbours):
    points, labels, _ = mixture(200)  # two clusters and an odd number: no ties
    rule = KNeighborsClassifier(n_neighbours)
    expected = cross_val_predict(rule, points, labels, cv=LeaveOneOut())
    np.testing.assert_array_equal(by_neighbours(points, labels, n_neighbours), expected)


def test_of_equal_votes_the_nearest_counts():
    points = np.array([[0.0], [1.0], [2.1], [-3.3], [-4.6]])
    labels = np.array([2, 1, 1, 0, 0])
    assert by_neighbours(points, labels, 4)[0] == 1
    assert by_neighbours(-points, labels, 4)[0] == 1


def test_a_point_never_tells_its_own_cluster():
    points = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.random.default_rng(1).integers(3, size=300)
    assert abs(ceiling(a_set(points, labels))) < 0.05
    twice = np.repeat(points[:20], 2, axis=0)  # the other of the pair is as near as the point
    opposite = np.tile([0, 1], 20)
    assert (by_neighbours(twice, opposite, 1) == 1 - opposite).all()


def test_rings_are_seen_by_neighbours_where_gaussians_see_nothing():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 400)
    labels = np.arange(400) % 2
    points = (1 + labels[:, None]) * np.stack([np.cos(angle), np.sin(angle)], 1)
    assert ceiling(a_set(points, labels)) == 1


def test_noise_has_no_say_and_is_not_scored():
    points, labels, _ = mixture(300)
    strays = np.concatenate([points, points])
    silent = np.concatenate([labels, np.full(300, -1)])
    assert ceiling(a_set(strays, silent)) == ceiling(a_set(points, labels))


def test_small_clusters_in_many_columns_are_no_singularity():
    random = np.random.default_rng(0)
    labels = np.array([0] * 80 + [1] * 4 + [2])
    points = random.normal(size=(85, 16)) + 20.0 * labels[:, None]
    points[:, 5] = 0
    assert (by_gaussians(points, labels)[:84] == labels[:84]).all()


def test_one_cluster_is_certain():
    assert ceiling(a_set(np.random.default_rng(0).normal(size=(90, 2)), np.zeros(90, int))) == 1
