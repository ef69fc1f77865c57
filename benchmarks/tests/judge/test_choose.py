"""The verdict: what was chosen has the most probable k."""

import numpy as np
import pytest

from judge.choose import belief_in_k, verdict_of


def test_the_chosen_number_is_the_most_probable():
    expected, k = np.array([0.3, 0.52, 0.5, 0.1]), np.array([1, 3, 2, 8])
    verdict = verdict_of(expected, k, 0.1)
    assert verdict.chosen == 1
    assert verdict.k_probabilities.argmax() == 3
    assert verdict.runner_up == 2
    assert verdict.expected_agreement == pytest.approx(0.52)


def test_beliefs_sum_to_one_and_none_has_none():
    belief = belief_in_k(np.array([0.9, 0.2]), np.array([2, 5]), 0.1)
    assert belief.sum() == pytest.approx(1)
    assert belief[0] == 0
    assert (belief[1:] > 0).all()


def test_a_single_candidate_has_no_runner_up():
    assert verdict_of(np.array([0.4]), np.array([2]), 0.1).runner_up is None
