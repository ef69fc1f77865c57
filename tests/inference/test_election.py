import numpy as np
import pytest

from coterie.inference.election import elect, is_settled, pooled

HALVES = np.repeat([0, 1], 50)
THIRDS = np.arange(100) // 34
SHIFTED = np.roll(HALVES, 3)
ODD = np.arange(100) % 2


def test_one_answer_is_taken_and_says_nothing_of_stability():
    assert elect([HALVES], [False]) == (0, None)
    assert elect([], [True]) == (0, None)


def test_the_answer_that_agrees_best_with_the_others_is_taken():
    assert elect([ODD, HALVES, SHIFTED, ODD[::-1] * 0], [False] * 4).chosen in (1, 2)
    assert elect([ODD, THIRDS, HALVES, SHIFTED], [False] * 4).chosen == 2


def test_answers_that_describe_their_context_come_first():
    votes = [HALVES, SHIFTED, HALVES, THIRDS, ODD]
    assert elect(votes, [False, False, False, True, False]).chosen == 3
    assert elect([*votes, THIRDS], [False] * 3 + [True, True, True]).chosen == 3


def test_stability_is_the_mean_agreement_of_two():
    assert elect([HALVES, 1 - HALVES], [False, False]).stability == pytest.approx(1)
    assert elect([HALVES, HALVES, ODD], [False] * 3).stability == pytest.approx(1 / 3, abs=0.02)


def test_the_first_of_equals_is_taken():
    assert elect([HALVES, 1 - HALVES, HALVES], [False] * 3).chosen == 0


def test_two_that_agree_settle_it():
    assert is_settled([HALVES, 1 - HALVES])
    assert not is_settled([HALVES])
    assert not is_settled([HALVES, np.where(np.arange(100) == 99, 2, HALVES)])  # one more cluster
    assert not is_settled([HALVES, THIRDS])
    assert not is_settled([HALVES, THIRDS, HALVES])


def test_beliefs_are_pooled_over_all_numbers():
    belief = pooled([np.array([0, 0.6, 0.4]), np.array([0, 0.1, 0.5, 0.4])])
    np.testing.assert_allclose(belief, [0, 0.35, 0.45, 0.2])
