import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from coterie.inference.outliers import Spacing, own_distances, scattered


def strewn(points, n_points, seed):
    """So many points, uniformly up to ten times as far from the centre as the others reach."""
    rng = np.random.default_rng(seed)
    centre = points.mean(0)
    reach = 10 * np.abs(points - centre).max(0)
    return centre + rng.uniform(-1, 1, (n_points, points.shape[1])) * reach


def four_blobs(d, seed):
    return make_blobs(400, centers=4, n_features=d, random_state=seed)


@pytest.mark.parametrize("d", [2, 6])
@pytest.mark.parametrize("n_strewn", [5, 20, 60])
def test_strewn_points_are_noise_and_blobs_are_not(d, n_strewn):
    hits, false = [], []
    for seed in range(5):
        points, labels = four_blobs(d, seed)
        table = np.concatenate([points, strewn(points, n_strewn, seed)])
        first = scattered(table)
        kept = np.flatnonzero(~first[:400])
        spacing = Spacing.of(points[kept], labels[kept])
        for noise in (first, spacing.beyond(table)):
            hits.append(noise[400:].mean())
            false.append(noise[:400].mean())
    assert np.mean(hits) >= 0.95
    assert max(false) <= 0.01


def shapes():
    rng = np.random.default_rng(0)
    yield make_moons(500, noise=0.06, random_state=0)
    yield make_circles(500, noise=0.04, factor=0.45, random_state=0)
    points, labels = make_blobs(500, centers=3, random_state=170)
    yield points @ np.array([[0.6, -0.6], [-0.4, 0.8]]), labels
    centers = [[0, 0], [8, 0], [4, 9]]
    yield make_blobs(500, centers=centers, cluster_std=[0.3, 1.0, 2.5], random_state=0)
    yield make_blobs([20, 180, 300], centers=centers, random_state=0)
    turn = np.sort(rng.random(500)) * 4 * np.pi + 1
    spiral = np.c_[turn * np.cos(turn), turn * np.sin(turn)] + 0.1 * rng.standard_normal((500, 2))
    yield spiral, np.zeros(500, dtype=int)
    lines = np.arange(500) % 2
    yield np.c_[20 * rng.random(500), 0.05 * rng.standard_normal(500) + 3 * lines], lines


@pytest.mark.parametrize("number", range(7))
def test_thin_and_sparse_shapes_are_no_noise(number):
    points, labels = list(shapes())[number]
    assert scattered(points).mean() <= 0.01
    assert Spacing.of(points, labels).beyond(points).mean() <= 0.01


def test_a_sparse_cluster_beside_dense_ones_is_no_noise():
    rng = np.random.default_rng(0)
    dense = [0.2 * rng.standard_normal((300, 2)) + place for place in ([0, 0], [4, 0])]
    table = np.concatenate([*dense, 1.5 * rng.standard_normal((40, 2)) + [3, 9]])
    labels = np.repeat([0, 1, 2], [300, 300, 40])
    assert scattered(table)[600:].mean() <= 0.1
    assert Spacing.of(table, labels).beyond(table).mean() <= 0.01


def test_new_points_are_judged_by_the_cluster_nearby():
    points = np.concatenate([np.arange(50.0), 1000 + 10 * np.arange(50.0)])[:, None]
    spacing = Spacing.of(points, np.repeat([0, 1], 50))
    assert spacing.beyond(np.array([[25.2], [-40.0], [960.0], [500.0]])).tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_neighbours_are_counted_without_the_point_itself():
    assert own_distances(np.arange(11.0)[:, None])[[0, 5]].tolist() == [5.0, 3.0]


@pytest.mark.parametrize("n_points", [1, 4, 30])
def test_few_and_equal_points_are_no_noise(n_points):
    table = np.zeros((n_points, 2))
    assert not scattered(table).any()
    assert not Spacing.of(table, np.zeros(n_points, dtype=int)).beyond(table).any()


def test_order_and_units_do_not_matter():
    points, _ = four_blobs(3, 0)
    table = np.concatenate([points, strewn(points, 20, 0)])
    order = np.random.default_rng(1).permutation(len(table))
    noise = scattered(table)
    assert (scattered(table[order]) == noise[order]).all()
    assert (scattered(table * [1.0, 1e3, 1e-3] + 5) == noise).all()
