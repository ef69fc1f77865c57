import numpy as np
import pytest

from coterie.inference import ballot
from coterie.inference.ballot import Ballot, elected, log_belief, simplest
from coterie.metrics import ari

LINE = np.linspace(0, 1, 400, dtype=np.float32)[:, None]


def cut_at(*places):
    """Labels (400,) of points on a line that is cut at some places."""
    return np.searchsorted(places, LINE[:, 0])


def ballot_of(*candidates):
    """What a judge thought of partitions, each with a score."""
    labels, scores = zip(*candidates, strict=True)
    return Ballot.of(LINE, labels, np.array(scores))


def answer(ballots):
    """The labels (400,) of the candidate that is elected."""
    draft = elected(ballots)
    return ballots[draft.context].told(LINE)[draft.number]


def test_candidates_are_kept_from_the_best_to_the_worst():
    kept = ballot_of((cut_at(0.2), 0.1), (cut_at(0.4), 0.5), (cut_at(0.6), 0.3))
    assert kept.scores.tolist() == [0.5, 0.3, 0.1]
    np.testing.assert_array_equal(kept.labels[0], cut_at(0.4))


def test_only_the_best_candidates_are_kept():
    many = ballot_of(*((cut_at(place), place) for place in np.linspace(0.1, 0.9, 50)))
    assert len(many.labels) == ballot.MOST_CANDIDATES
    assert many.scores.min() == pytest.approx(0.9 - 31 * 0.8 / 49)


def test_other_points_belong_where_the_nearest_one_does():
    told = ballot_of((cut_at(0.3), 0.5)).told(np.array([[0.29], [0.31], [2.0]]))
    np.testing.assert_array_equal(told, [[0, 1, 1]])


def test_the_second_choice_of_all_is_elected_before_three_first_ones():
    """Every context has a favourite of its own, and nearly as good a candidate that all have."""
    thirds = cut_at(0.33, 0.67)
    favourites = [cut_at(0.1), cut_at(0.9), cut_at(0.2, 0.25, 0.5, 0.8)]
    ballots = [ballot_of((own, 0.5), (thirds, 0.48)) for own in favourites]
    assert ari(answer(ballots), thirds) == pytest.approx(1)


def test_a_much_better_candidate_is_elected():
    halves, thirds = cut_at(0.5), cut_at(0.33, 0.67)
    assert ari(answer([ballot_of((halves, 0.9), (thirds, 0.3))] * 3), halves) == 1
    assert ari(answer([ballot_of((halves, 0.3), (thirds, 0.9))] * 3), thirds) == 1


def test_what_cancels_out_does_not_count_against_a_candidate():
    """Every context errs on other points of the halves; the worse thirds are always the same."""
    thirds, rng = cut_at(0.33, 0.67), np.random.default_rng(0)
    noisy = [np.where(rng.random(400) < 0.15, 1 - cut_at(0.5), cut_at(0.5)) for _ in range(5)]
    draft = elected([ballot_of((each, 0.6), (thirds, 0.3)) for each in noisy])
    assert draft.number == 0
    assert draft.nearest.tolist() == [0] * 5


def test_every_context_names_its_most_similar_candidate():
    ballots = [
        ballot_of((cut_at(0.5), 0.9), (cut_at(0.2), 0.1)),
        ballot_of((cut_at(0.3, 0.8), 0.9), (cut_at(0.48), 0.8)),
    ]
    draft = elected(ballots)
    assert (draft.context, draft.number) == (0, 0)
    assert draft.nearest.tolist() == [0, 1]


def test_the_order_of_the_contexts_does_not_matter():
    rng = np.random.default_rng(0)
    ballots = [
        ballot_of(*((cut_at(*np.sort(rng.random(k))), rng.random()) for k in (1, 2, 3, 4)))
        for _ in range(4)
    ]
    np.testing.assert_array_equal(answer(ballots), answer(ballots[::-1]))


def test_belief_is_the_support_of_the_most_similar_good_candidate():
    scores = np.array([0.6, 0.2])
    alike = log_belief(scores, np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.0]]))
    assert alike[0] == pytest.approx(0.6, abs=1e-3)
    assert alike[1] == pytest.approx(0.2, abs=1e-3)
    assert alike[2] == pytest.approx(0.59, abs=1e-3)
    twice = log_belief(np.array([0.6, 0.6]), np.ones((1, 2)))
    assert twice[0] == pytest.approx(0.6 + ballot.TEMPERATURE * np.log(2))


def test_of_nearly_equal_partitions_the_one_with_the_fewest_clusters_is_taken():
    rare = np.repeat([0, 1, 2], [200, 195, 5])
    halves = np.repeat([0, 1], 200)
    apart = np.arange(400) % 2
    labels = np.stack([rare, halves, apart])
    assert simplest(labels, np.array([0.5, 0.49, 0.495])) == 1
    assert simplest(labels, np.array([0.5, 0.4, 0.495])) == 0  # not so good
    assert simplest(labels[[0, 2]], np.array([0.5, 0.495])) == 0  # other clusters
