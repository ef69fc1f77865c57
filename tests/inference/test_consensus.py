import numpy as np
import pytest
import torch

from coterie.inference.consensus import mean_shares, rule_of

LINE = np.linspace(0, 1, 101)[:, None]


def cut_at(*places):
    """Memberships (101, K) of points on a line that is cut at some places."""
    return np.eye(len(places) + 1)[np.searchsorted(places, LINE[:, 0])]


def test_clusters_in_another_order_are_the_same_clusters():
    shares = cut_at(0.3, 0.7)
    np.testing.assert_allclose(mean_shares([shares, shares[:, [2, 0, 1]]], 0), shares)
    np.testing.assert_allclose(mean_shares([shares, shares[:, [2, 0, 1]]], 1), shares[:, [2, 0, 1]])


def test_the_border_is_where_most_put_it():
    voted = mean_shares([cut_at(0.3), cut_at(0.42), cut_at(0.4)], 0)
    assert voted.argmax(1).tolist() == cut_at(0.4).argmax(1).tolist()
    np.testing.assert_allclose(voted.sum(1), 1)


def test_an_answer_that_joins_two_clusters_does_not_move_their_border():
    chosen, coarse = cut_at(0.25, 0.6), cut_at(0.6)
    voted = mean_shares([chosen, coarse, coarse], 0)
    assert voted.argmax(1).tolist() == chosen.argmax(1).tolist()


def test_an_answer_that_divides_a_cluster_counts_for_it():
    voted = mean_shares([cut_at(0.5), cut_at(0.2, 0.6), cut_at(0.3, 0.6)], 0)
    assert voted.argmax(1).tolist() == cut_at(0.6).argmax(1).tolist()


def test_the_rule_gives_the_memberships_back():
    shares = np.column_stack([1 - LINE, LINE])
    rule = rule_of(shares, LINE)
    found = rule.log_probabilities(torch.from_numpy(LINE)).exp()
    np.testing.assert_allclose(found, shares, atol=1e-5)
    between = rule.log_probabilities(torch.tensor([[0.505]])).exp()
    assert between[0, 1] == pytest.approx(0.505, abs=0.01)
