import numpy as np
import pytest

import coterie
import doubts
from bench.suite import SuiteSet
from doubts import STRANGE, CountBelief, ask, belief, is_strange


@pytest.mark.parametrize(
    ("kind", "strange"),
    [
        ("uniform noise in 10 to 16 columns", True),
        ("lattices", True),
        ("columns that are mostly constant", True),
        ("one Gaussian in 3 columns", False),
        ("fractals in 2 and 3 columns", True),
    ],
)
def test_a_kind_is_called_strange_or_not(kind, strange):
    assert is_strange(STRANGE[kind](np.random.default_rng(0))) == strange


def test_every_kind_draws_other_tables_for_other_seeds():
    for draw in STRANGE.values():
        first, other = (draw(np.random.default_rng(seed)) for seed in (0, 1))
        assert first.ndim == 2
        assert first.shape != other.shape or not np.array_equal(first, other)


def test_a_model_is_asked_about_the_sets_that_are_small_enough(blobs):
    points = blobs.points.astype(np.float32)
    small = SuiteSet("", "", points, blobs.labels)
    large = SuiteSet("", "", np.tile(points, (2, 1)), np.tile(blobs.labels, 2))
    assert len(small.points) <= doubts.MOST_ROWS < len(large.points)
    (asked,) = ask([small, large], coterie.AMCP("amcp-mog2d", random_state=0))
    assert (asked.found, asked.true) == (3, 3)
    assert asked.probabilities[3] > 0.5


def test_belief_is_held_against_the_truth():
    believed = {found: np.append(np.zeros(found), [0.6, 0.4]) for found in (1, 2)}
    pairs = ((2, 2), (2, 3), (2, 4), (1, 1))
    assert belief(CountBelief(found, believed[found], true) for found, true in pairs) == {
        "sets": 4,
        "right": 0.5,
        "believed": pytest.approx(0.6),
        "surprise": pytest.approx(-(2 * np.log(0.6) + np.log(0.4) + np.log(1e-12)) / 4),
        "among_probable": 0.75,
        "sure": 0,
        "sure_and_right": 0,
    }
