from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference import looks as module
from coterie.inference.looks import (
    Looks,
    bundles,
    memberships,
    neighbours,
    same_partition,
    settled,
    shown_again,
)
from coterie.metrics import ari
from coterie.weights.catalogue import open_model


@pytest.fixture(scope="module")
def network():
    return open_model("amcp-mog2d")[0]


@pytest.fixture(scope="module")
def points(blobs):
    return torch.tensor(blobs.points, dtype=torch.float32)


@pytest.fixture(scope="module")
def looks(network, points):
    return Looks(network, points)


def in_halves(points, labels, number):
    """The labels with one cluster cut across its first column."""
    column = points[:, 0].numpy()
    middle = np.median(column[labels == number])
    return np.where((labels == number) & (column > middle), labels.max() + 1, labels)


def test_two_clusters_that_were_taken_for_one_are_divided(looks, points, blobs):
    assert ari(blobs.labels, settled(looks, np.minimum(blobs.labels, 1))) > 0.99


def test_the_halves_of_a_cluster_are_merged(looks, points, blobs):
    assert ari(blobs.labels, settled(looks, in_halves(points, blobs.labels, 0))) > 0.99


def test_points_on_the_wrong_side_of_a_border_come_back(looks, points, blobs):
    labels = blobs.labels.copy()
    labels[np.flatnonzero(labels == 0)[:20]] = 1
    assert ari(blobs.labels, settled(looks, labels)) > 0.99


def test_the_true_clusters_stay_as_they_are(looks, points, blobs):
    assert same_partition(blobs.labels, settled(looks, blobs.labels))


def test_a_single_cluster_has_no_pairs(network, points, blobs):
    alone = points[torch.from_numpy(blobs.labels == 0)]
    labels = settled(Looks(network, alone), np.zeros(len(alone), dtype=np.intp))
    assert set(labels) == {0}


def test_what_is_said_of_a_group_does_not_depend_on_the_others(looks, points, blobs):
    halves = in_halves(points, blobs.labels, 0)
    alone = shown_again(looks, halves, [(0, 3)])
    beside = shown_again(looks, halves, [(0, 3), (1, 2), (1,)])
    assert same_partition(alone, beside)
    assert alone.max() == 2


def test_of_groups_in_common_the_first_that_changes_counts(looks, points, blobs):
    halves = in_halves(points, blobs.labels, 0)
    both = shown_again(looks, halves, [(1, 2), (0, 3), (0, 1)])
    assert same_partition(both, shown_again(looks, halves, [(0, 3)]))
    assert same_partition(halves, shown_again(looks, halves, []))


def test_neighbours_are_near_the_nearest_first():
    places = torch.tensor([[0.0, 0], [1, 0], [3, 0], [10, 0], [30, 0], [31, 0]])
    pairs = neighbours(places, np.arange(6))
    assert pairs[:3] == [(0, 1), (4, 5), (1, 2)]
    assert (0, 5) not in pairs
    assert {number for pair in pairs for number in pair} == set(range(6))


def test_partitions_are_the_same_under_other_names():
    assert same_partition(np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]))
    assert not same_partition(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]))
    assert not same_partition(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))


def test_memberships_are_those_of_pairs(looks, points, blobs):
    shares = memberships(looks, blobs.labels)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_array_equal(shares.argmax(1), blobs.labels)
    assert shares[np.arange(len(points)), blobs.labels].mean() > 0.95


def test_a_cluster_that_the_network_cuts_in_doubt_is_whole(looks, points, blobs, monkeypatch):
    halves = in_halves(points, blobs.labels, 0)

    def in_doubt(looks, labels):
        """Between the halves of cluster 0 the network is in doubt, elsewhere it is sure."""
        shares = np.eye(labels.max() + 1)[labels]
        shares[halves == 0, labels[halves == 3][0]] = 0.1
        return shares

    monkeypatch.setattr(module, "memberships", in_doubt)
    assert module.doubtful(looks, halves) == [(0, 3)]
    shares = memberships(looks, blobs.labels)
    monkeypatch.setattr(module, "memberships", lambda *_: shares)
    assert module.doubtful(looks, blobs.labels) == []


def test_a_group_is_looked_at_once(network, points, blobs, monkeypatch):
    looks, asked = Looks(network, points), []
    look = looks._look
    monkeypatch.setattr(looks, "_look", lambda rows: asked.append(len(rows)) or look(rows))
    halves = in_halves(points, blobs.labels, 0)
    rows = [np.flatnonzero(halves == number) for number in (0, 1)]
    first = looks.at(rows)
    again = looks.at([rows[1], np.flatnonzero(halves == 2), rows[0]])
    assert asked == [2, 1]
    assert again[0] is first[1]
    assert again[2] is first[0]


def test_sets_of_like_sizes_are_looked_at_side_by_side():
    sizes = [10, 4_000, 30, 5_000, 2_000, 20, 9_000]
    found = bundles(sizes)
    assert sorted(number for group in found for number in group) == list(range(len(sizes)))
    assert [[sizes[number] for number in group] for group in found] == [
        [9_000],
        [5_000],
        [4_000, 2_000],
        [30, 20, 10],
    ]
    assert bundles([3, 3, 3]) == [[0, 1, 2]]  # those of one size stay in their order
    assert bundles([]) == []


def test_few_large_sets_wait_for_each_other(network, monkeypatch):
    points = torch.rand(9_000, 2, generator=torch.Generator().manual_seed(0))
    looks, shown, pad = Looks(network, points), [], SetBatch.padded

    def counted(sets):
        shown.append(len(sets) * max(map(len, sets)))
        return pad(sets)

    monkeypatch.setattr(SetBatch, "padded", counted)
    looks.at([np.arange(start, start + 3_000) for start in range(0, 6_000, 1_000)])
    assert shown == [6_000] * 3


def test_companions_leave_what_is_said_as_it_is(network, points, blobs, monkeypatch):
    rows = [np.flatnonzero(np.isin(blobs.labels, pair)) for pair in ((0, 1), (0, 2), (1, 2))]
    together = Looks(network, points).at(rows)
    monkeypatch.setattr(module, "SIDE_BY_SIDE", 1)
    for alone, beside in zip(Looks(network, points).at(rows), together, strict=True):
        np.testing.assert_allclose(np.exp(alone), np.exp(beside), atol=1e-5)


class Endless:
    """A network that finds one point after another, and no end."""

    def __init__(self, network, ends):
        self.network, self.ends = network, ends

    def __getattr__(self, name):
        return getattr(self.network, name)

    def accelerated(self):
        return self

    def finished(self, state):
        return torch.full((len(state.remaining),), self.ends and bool(state.commits))

    def step(self, state, generator=None):
        commit = self.network.step(state, generator)
        first = state.remaining & (state.remaining.cumsum(1) == 1)
        return replace(commit, joined=first)


def test_a_group_in_which_the_network_finds_no_end_stays_as_it_is(network, points, blobs):
    halves = in_halves(points, blobs.labels, 0)
    looks = Looks(Endless(network, ends=False), points)
    assert looks.at([np.flatnonzero(halves == 0)]) == [None]
    assert same_partition(halves, settled(looks, halves))
    assert np.array_equal(memberships(looks, halves), np.eye(4)[halves])
    (shown,) = Looks(Endless(network, ends=True), points).at([np.arange(9)])
    assert shown is not None
