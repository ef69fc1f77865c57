"""The verdict: what was chosen has the most probable k."""

import numpy as np
import pytest

from coterie.judge.verdict import belief_in_k


def test_the_best_candidate_has_the_most_probable_number():
    belief = belief_in_k(np.array([0.3, 0.52, 0.5, 0.1]), np.array([1, 3, 2, 8]), 0.1)
    assert belief.argmax() == 3
    assert belief[2] > belief[1] > belief[8]


def test_beliefs_sum_to_one_and_none_has_none():
    belief = belief_in_k(np.array([0.9, 0.2]), np.array([2, 5]), 0.1)
    assert belief.sum() == pytest.approx(1)
    assert belief[0] == 0
    assert (belief[1:] > 0).all()
