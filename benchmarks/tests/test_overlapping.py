import numpy as np
import pytest

from bench.overlapping import draw_overlapping
from coterie.metrics import ari
from coterie.mixtures.search import fit_mixture


def test_sets_are_as_described():
    for seed in range(12):
        found = draw_overlapping(np.random.default_rng(seed))
        n_points, d = found.points.shape
        k = len(np.unique(found.labels))
        assert 200 <= n_points <= 2000
        assert 2 <= d <= 64
        assert 1 <= k <= 10
        assert n_points >= 10 * d * k
        agreement = ari(found.labels, found.bayes)
        assert agreement == 1 if k == 1 else 0.89 < agreement < 0.995


def test_the_same_generator_draws_the_same_set():
    one, other = (draw_overlapping(np.random.default_rng(3)) for _ in range(2))
    assert (one.points == other.points).all()
    assert (one.labels == other.labels).all()


@pytest.mark.slow
def test_the_mixture_arm_is_near_the_bayes_rule():
    """From labels of which three in ten are wrong."""
    behind = []
    for seed in range(100, 112):
        points, labels, bayes = draw_overlapping(np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        wrong = rng.random(len(labels)) < 0.3
        start = np.where(wrong, rng.integers(0, labels.max() + 1, len(labels)), labels)
        fit = fit_mixture(points / points.std(0), start)
        behind.append(ari(labels, bayes) - ari(labels, fit.labels))
    assert np.mean(behind) < 0.05
