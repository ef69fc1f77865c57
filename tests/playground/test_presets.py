import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from coterie.playground.presets import PRESETS, draw


@pytest.mark.parametrize("name", PRESETS)
def test_sets_fit_the_canvas_and_come_again(name):
    first, again = draw(name, n=300, seed=5), draw(name, n=300, seed=5)
    assert first.points.shape == (300, 2)
    assert first.truth.shape == (300,)
    assert np.abs(first.points).max() < 8
    np.testing.assert_array_equal(first.points, again.points)
    assert (draw(name, n=300, seed=6).points != first.points).any()


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.k])
def test_the_slider_says_how_many_clusters_there_are(name):
    slider = PRESETS[name].k
    for k in (int(slider.lowest), int(slider.highest)):
        truth = draw(name, n=200, k=k, overlap=0.1).truth
        assert len(np.unique(truth[truth >= 0])) == k


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("n", [2, 13])
def test_few_points_are_enough(name, n):
    assert len(draw(name, n=n, k=5, overlap=1).points) == n


def test_mixtures_overlap_as_the_slider_says():
    def separable(overlap):
        points, truth = draw("mixture", n=400, k=4, overlap=overlap)
        return adjusted_rand_score(truth, KMeans(4, n_init=3, random_state=0).fit_predict(points))

    assert separable(0) > 0.99
    assert separable(1) < 0.9


@pytest.mark.parametrize("name", ["moons", "rings", "spirals"])
def test_curved_clusters_are_connected_and_apart(name):
    points, truth = draw(name, n=1500, k=2, overlap=0)
    assert adjusted_rand_score(truth, DBSCAN(eps=0.6).fit_predict(points)) > 0.98


def test_noise_has_no_cluster_and_the_share_of_the_slider():
    truth = draw("noise", n=1000, k=3, overlap=0.3).truth
    assert (truth == -1).sum() == 300


def test_unbalanced_clusters_differ_in_size():
    sizes = np.bincount(draw("unbalanced", n=1000, k=4).truth)
    assert sizes.max() > 8 * sizes.min()
