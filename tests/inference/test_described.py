"""Sets that a mixture of Gaussians describes are clustered by it, others as before."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import coterie
from coterie.inference.described import DECISIVE, is_decisive
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.metrics import ari
from coterie.mixtures.gaussians import FullMixture
from coterie.mixtures.search import MixtureFit


def overlapping(n_rows, n_columns, seed=0):
    """Two pairs of Gaussians: no gap between those of a pair, which the network takes for one."""
    rng = np.random.default_rng(seed)
    centres = np.zeros((4, n_columns))
    centres[:, 0], centres[:, 1] = [0, 3.7, 0, 3.7], [0, 0, 9, 9]
    labels = rng.integers(0, 4, n_rows)
    return centres[labels] + rng.normal(size=(n_rows, n_columns)), labels


@pytest.mark.parametrize("n_columns", [2, 5])
def test_overlapping_gaussians_are_told_apart(n_columns):
    points, labels = overlapping(1_500, n_columns)
    model = coterie.AMCP().fit(points)
    assert isinstance(model.fitted_.rule, FullMixtureRule)
    assert model.n_clusters_ == 4
    assert ari(labels, model.labels_) > 0.85
    assert model.expected_agreement_ == pytest.approx(ari(labels, model.labels_), abs=0.05)
    assert model.k_probabilities_.argmax() == 4
    np.testing.assert_array_equal(model.predict(points), model.labels_)


def test_columns_beyond_those_the_network_reads_count():
    """Only the last of twenty columns tells the clusters apart, and it varies least."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1_200)
    points = rng.normal(size=(1_200, 20))
    points[:, :19] += 2 * rng.normal(size=(1_200, 1))  # one strong common direction
    points[:, 19] += 6 * labels
    model = coterie.AMCP().fit(points)
    assert model.fitted_.frame.width == 20
    assert ari(labels, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(points), model.labels_)


def test_a_model_with_a_wider_frame_is_saved_and_read(tmp_path):
    points, _ = overlapping(600, 18)
    model = coterie.AMCP().fit(points)
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict_proba(points), model.predict_proba(points))


def test_a_bar_is_no_row_of_gaussians():
    """Three Gaussians describe it, but a cluster that is evenly spread explains it as well."""
    rng = np.random.default_rng(6)
    bar = np.column_stack([rng.uniform(0, 10, 200), rng.normal(0, 0.5, 200)])
    points = np.vstack([bar, rng.normal([5, 6], 0.5, (200, 2))])
    model = coterie.AMCP().fit(points)
    assert ari(np.repeat([0, 1], 200), model.labels_) == 1


def test_shapes_are_left_to_the_network():
    points, labels = make_moons(600, noise=0.05, random_state=0)
    model = coterie.AMCP().fit(points)
    assert ari(labels, model.labels_) == 1
    assert not isinstance(model.fitted_.rule, FullMixtureRule)


def test_the_order_of_rows_does_not_matter():
    points, _ = overlapping(500, 3)
    order = np.random.default_rng(1).permutation(len(points))
    one, other = (coterie.AMCP().fit(each) for each in (points, points[order]))
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_number_that_is_asked_for_is_kept(k):
    points, _ = overlapping(800, 2)
    assert coterie.AMCP(n_clusters=k).fit(points).n_clusters_ == k


def test_noise_is_noise_here_too():
    points, _ = overlapping(800, 2)
    far = np.random.default_rng(3).uniform(30, 60, (10, 2))
    labels = coterie.AMCP(noise=True).fit_predict(np.vstack([points, far]))
    assert (labels[-10:] == -1).all()
    assert (labels[:-10] == -1).mean() < 0.01


@pytest.mark.parametrize(
    ("n_found", "gain", "decides"),
    [
        (2, 1.9 * DECISIVE, False),
        (2, 2.1 * DECISIVE, True),
        (5, 0.1, True),  # fewer than the network found
        (4, 0.1, True),
        (1, 0.1, True),  # a number that was not tried
    ],
)
def test_more_clusters_than_the_network_found_need_evidence(n_found, gain, decides):
    mixture = FullMixture(np.log(np.full(4, 0.25)), np.zeros((4, 2)), np.stack([np.eye(2)] * 4))
    evidence = dict.fromkeys((2, 3, 5), -gain) | {4: 0.0}
    fit = MixtureFit(mixture, 16.0, np.full((8, 4), 0.25), 0.0, evidence)
    start = np.arange(8) % n_found
    assert is_decisive(fit, np.zeros((8, 2)), start) == decides
