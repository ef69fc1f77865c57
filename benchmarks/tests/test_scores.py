import numpy as np
import pytest

from bench.scores import Run, oracle_summary, score, summarise
from bench.sets import LabelledSet, Oracle
from coterie.comparison.methods import Answer
from coterie.metrics import gaussian_log_likelihood

POINTS = np.array([[0, 0], [0, 1], [5, 5], [5, 6]], dtype=np.float32)
TRUTH = np.array([0, 0, 1, 1])
KNOWN = LabelledSet(POINTS, TRUTH, Oracle(TRUTH, -2.0))
UNKNOWN = LabelledSet(POINTS, TRUTH, None)


def test_a_perfect_answer():
    scores = score(UNKNOWN, Answer(1 - TRUTH))
    perfect = {"ari": 1.0, "nmi": pytest.approx(1.0), "acc": 1.0, "k_mae": 0.0, "k_found": 2.0}
    assert scores == perfect


def test_noise_is_not_scored():
    noisy = LabelledSet(np.repeat(POINTS, 2, 0), np.array([0, -1, 0, -1, 1, -1, 1, -1]), None)
    scores = score(noisy, Answer(np.array([4, 0, 4, 1, 3, 2, 3, 3])))
    assert scores == score(UNKNOWN, Answer(TRUTH))


def test_likelihoods_are_compared_with_the_oracle():
    scores = score(KNOWN, Answer(TRUTH, network_log_likelihood=-2.5))
    expected = gaussian_log_likelihood(POINTS, TRUTH)
    assert scores["ll"] == expected
    assert scores["ll_minus_oracle"] == pytest.approx(expected + 2.0)
    assert scores["network_ll_minus_oracle"] == pytest.approx(-0.5)


def test_only_a_network_is_scored_by_its_own_parameters():
    assert "network_ll_minus_oracle" not in score(KNOWN, Answer(TRUTH))


def test_the_oracle_is_scored_by_its_labels_and_the_true_parameters():
    wrong = LabelledSet(POINTS, TRUTH, Oracle(np.zeros(4, dtype=int), -3.0))
    summary = oracle_summary([KNOWN, wrong])
    assert summary.n_sets == 2
    assert summary.metrics["ll"].mean == -2.5
    assert summary.metrics["k_mae"].mean == 0.5
    assert summary.metrics["ari"].mean == pytest.approx(0.5)
    assert summary.seconds_mean is None


def test_sets_without_a_density_have_no_oracle():
    assert oracle_summary([UNKNOWN]) is None


def test_summary_against_numpy():
    values, seconds = [0.2, 0.4, 0.9], [1.0, 2.0, 6.0]
    runs = [Run({"ari": value}, time) for value, time in zip(values, seconds, strict=True)]
    summary = summarise("name", "details", runs)
    assert summary.metrics["ari"].mean == pytest.approx(0.5)
    expected = np.std(values, ddof=1) / np.sqrt(3)
    assert summary.metrics["ari"].standard_error == pytest.approx(expected)
    assert (summary.n_sets, summary.seconds_mean, summary.seconds_median) == (3, 3.0, 2.0)


def test_one_set_has_no_standard_error():
    assert summarise("", "", [Run({"ari": 1.0}, 1.0)]).metrics["ari"].standard_error is None
