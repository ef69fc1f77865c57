import runpy
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.data.suite import SuiteSet

doubts = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "doubts.py"))


@pytest.mark.parametrize(
    ("kind", "strange"),
    [
        ("uniform noise in 10 to 16 columns", True),
        ("lattices", True),
        ("columns that are mostly constant", True),
        ("one Gaussian in 3 columns", False),
    ],
)
def test_a_kind_is_called_strange_or_not(kind, strange):
    table = doubts["STRANGE"][kind](np.random.default_rng(0))
    assert doubts["is_strange"](table) == strange


def test_every_kind_draws_other_tables_for_other_seeds():
    for draw in doubts["STRANGE"].values():
        first, other = (draw(np.random.default_rng(seed)) for seed in (0, 1))
        assert first.ndim == 2
        assert first.shape != other.shape or not np.array_equal(first, other)


class Believer:
    """A model that finds as many clusters as the first point says, and believes so by three fifths.

    The rest is believed of one cluster more.
    """

    def __init__(self, weights, random_state):
        pass

    def fit(self, points):
        self.n_clusters_ = int(points[0, 0])
        self.k_probabilities_ = np.zeros(self.n_clusters_ + 2)
        self.k_probabilities_[-2:] = 0.6, 0.4
        return self


def test_belief_is_held_against_the_truth(monkeypatch):
    sets = [
        SuiteSet("", "", np.full((4, 2), found), np.arange(4) % true)
        for found, true in ((2, 2), (2, 3), (2, 4), (1, 1))
    ]
    large = SuiteSet("", "", np.ones((501, 2)), np.zeros(501, dtype=int))
    names = doubts["belief"].__globals__
    monkeypatch.setitem(names, "held_out_sets", lambda n_sets, seed: [*sets, large])
    monkeypatch.setattr(coterie, "AMCP", Believer)
    assert doubts["belief"]() == {
        "sets": 4,
        "right": 0.5,
        "believed": pytest.approx(0.6),
        "surprise": pytest.approx(-(2 * np.log(0.6) + np.log(0.4) + np.log(1e-12)) / 4),
        "among_probable": 0.75,
        "sure": 0,
        "sure_and_right": 0,
    }
