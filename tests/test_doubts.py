import runpy
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.filterwarnings("ignore:the data look unlike")
def test_belief_is_held_against_the_truth(monkeypatch):
    for name, value in (("ASKED_A_FAMILY", 1), ("MOST_ROWS", 250)):
        monkeypatch.setitem(doubts["belief"].__globals__, name, value)
    found = doubts["belief"]()
    assert found["sets"] > 0
    assert 0 < found["believed"] <= 1
    assert found["surprise"] > 0
    assert 0 <= found["sure_and_right"] <= found["sure"] <= found["sets"]
