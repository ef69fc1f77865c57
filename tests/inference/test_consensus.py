import numpy as np
import pytest
import torch

from coterie.inference import consensus
from coterie.inference.consensus import joint_clusters, mean_shares, rule_of
from coterie.metrics import ari

LINE = np.linspace(0, 1, 101)[:, None]


def cut_at(*places):
    """Memberships (101, K) of points on a line that is cut at some places."""
    return np.eye(len(places) + 1)[np.searchsorted(places, LINE[:, 0])]


def test_clusters_in_another_order_are_the_same_clusters():
    shares = cut_at(0.3, 0.7)
    np.testing.assert_allclose(mean_shares([shares, shares[:, [2, 0, 1]]], shares), shares)
    turned = shares[:, [2, 0, 1]]
    np.testing.assert_allclose(mean_shares([shares, turned], turned), turned)


def test_the_border_is_where_most_put_it():
    voted = mean_shares([cut_at(0.3), cut_at(0.42), cut_at(0.4)], cut_at(0.3))
    assert voted.argmax(1).tolist() == cut_at(0.4).argmax(1).tolist()
    np.testing.assert_allclose(voted.sum(1), 1)


def test_an_answer_that_joins_two_clusters_does_not_move_their_border():
    chosen, coarse = cut_at(0.25, 0.6), cut_at(0.6)
    voted = mean_shares([chosen, coarse, coarse], chosen)
    assert voted.argmax(1).tolist() == chosen.argmax(1).tolist()


def test_an_answer_that_divides_a_cluster_counts_for_it():
    voted = mean_shares([cut_at(0.5), cut_at(0.2, 0.6), cut_at(0.3, 0.6)], cut_at(0.5))
    assert voted.argmax(1).tolist() == cut_at(0.6).argmax(1).tolist()


def test_the_rule_gives_the_memberships_back():
    shares = np.column_stack([1 - LINE, LINE])
    rule = rule_of(shares, LINE)
    found = rule.log_probabilities(torch.from_numpy(LINE)).exp()
    np.testing.assert_allclose(found, shares, atol=1e-5)
    between = rule.log_probabilities(torch.tensor([[0.505]])).exp()
    assert between[0, 1] == pytest.approx(0.505, abs=0.01)


def test_answers_that_agree_are_the_joint_clusters():
    third = np.arange(300) // 100
    joint = joint_clusters([third, (third + 1) % 3, third])
    assert ari(joint, third) == 1


def test_what_most_answers_divide_or_join_is_divided_or_joined():
    sixths = np.arange(300) // 50
    divided = np.where(sixths == 5, 2, sixths // 2)  # a half of the last third lies apart
    divided[sixths == 4] = 3
    thirds = sixths // 2
    assert ari(joint_clusters([thirds, thirds, divided, thirds, divided]), thirds) == 1
    assert ari(joint_clusters([divided, thirds, divided, thirds, divided]), divided) == 1


def test_small_clusters_of_all_answers_stay():
    """Two of a thousand points: that they are apart hardly changes the agreement."""
    rare = np.repeat([0, 1, 2], [500, 498, 2])
    assert ari(joint_clusters([rare] * 5), rare) == 1


def test_fragments_of_single_answers_vanish():
    rng = np.random.default_rng(0)
    halves = np.arange(1000) // 500
    votes = [
        np.where(rng.random(1000) < 0.02, 2 + rng.integers(0, 9, 1000), halves) for _ in "12345"
    ]
    joint = joint_clusters(votes)
    assert len(np.unique(joint)) == 2
    assert ari(joint, halves) > 0.99


@pytest.mark.parametrize(("least", "most"), [(4, 5), (1, 2)])
def test_the_number_of_joint_clusters_is_one_of_those_allowed(least, most):
    rng = np.random.default_rng(1)
    places = rng.uniform(size=400)
    votes = [np.searchsorted(np.sort(rng.uniform(size=k)), places) for k in (2, 3, 4)]
    assert least <= len(np.unique(joint_clusters(votes, least, most))) <= most


def test_many_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(consensus, "MOST_GROUPS", 10)
    rng = np.random.default_rng(2)
    halves = np.arange(2000) // 1000
    votes = [np.where(rng.random(2000) < 0.1, rng.integers(2, 40, 2000), halves) for _ in "123"]
    assert ari(joint_clusters(votes), halves) > 0.9
