from types import SimpleNamespace

import numpy as np
import pytest

import coterie
from coterie.report.trust import Trust, belief_remark, drawn_numbers, trust_of, trust_remarks

BELIEF = np.array([0, 0.02, 0.05, 0.68, 0.2, 0.05])


def test_the_belief_is_told_in_words():
    words, other = belief_remark(BELIEF, 3)
    assert words == "3 clusters is the most probable number (68%), 4 has 20%."
    assert other is None


def test_a_number_that_is_not_the_most_probable_is_told_so_with_the_other():
    remark = belief_remark(BELIEF, 4)
    assert remark.words.endswith("(68%), the 4 shown here have 20%:")
    assert remark.n_clusters == 3
    assert "the 9 shown here have 0%" in belief_remark(BELIEF, 9).words


def test_what_a_model_says_is_read_where_it_says_it(fitted):
    trust = trust_of(fitted)
    assert trust.k_probabilities[3] > 0.5
    assert 0 < trust.expected_agreement <= 1
    assert trust.stability is trust.runner_up is None
    said = SimpleNamespace(expected_agreement_=0.712, stability_=np.float32(0.9), runner_up_=2)
    assert trust_of(said) == Trust(None, 0.712, pytest.approx(0.9), 2)


def test_a_number_that_was_given_is_no_belief(blobs):
    assert trust_of(coterie.AMCP(n_clusters=3).fit(blobs.points)).k_probabilities is None


def test_agreement_stability_and_runner_up_are_sentences():
    agreement, stability, other = trust_remarks(Trust(None, 0.712, 0.9, 2), 3)
    assert agreement.words.startswith("Expected agreement with the true groups: 0.71 (ARI")
    assert stability.words.startswith("Stability: 0.90")
    assert other == ("Two clusters are nearly as probable:", 2)
    assert trust_remarks(Trust(runner_up=3), 3) == ()
    assert trust_remarks(Trust(runner_up=1), 3)[0].words == "One cluster is nearly as probable:"


def test_bars_are_of_the_probable_numbers_and_the_one_found():
    assert drawn_numbers(BELIEF, 3) == [1, 2, 3, 4, 5]
    assert drawn_numbers(BELIEF, 6) == [1, 2, 3, 4, 5, 6]
    wide = np.full(60, 1 / 59) * (np.arange(60) > 0)
    assert len(drawn_numbers(wide, 50)) <= 9
    assert 50 in drawn_numbers(wide, 50)
