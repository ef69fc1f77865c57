from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference.rules.seating import SeatingRule
from coterie.inference.samples import most_probable
from coterie.weights.format import load_system


@pytest.fixture(scope="module")
def system(tiny_ncp):
    return load_system(Path(tiny_ncp))[0].double()


@pytest.fixture(scope="module")
def rule(system, blobs):
    few = torch.from_numpy(np.array(blobs.points[::10]))
    best = most_probable(system, SetBatch.single(few), 10, torch.Generator().manual_seed(0))
    return SeatingRule.of(system, best.commits)


def test_a_further_point_takes_the_seat_of_the_network(rule, system, blobs):
    points = torch.from_numpy(np.array(blobs.points[:20]))
    seats = system.seat(points[None], rule.sums[None])[0, :, :-1]
    torch.testing.assert_close(rule.log_probabilities(points), seats.log_softmax(-1))


def test_rows_sum_to_one_in_any_chunks(rule, blobs):
    points = torch.from_numpy(np.array(blobs.points))
    whole = rule.log_probabilities(points)
    torch.testing.assert_close(whole.exp().sum(1), torch.ones(len(points)).double())
    parts = torch.cat([rule.log_probabilities(part) for part in points.split(7)])
    assert torch.equal(whole.argmax(1), parts.argmax(1))
    torch.testing.assert_close(whole, parts, atol=1e-9, rtol=1e-9)


def test_clusters_can_be_chosen_and_reordered(rule, blobs):
    points = torch.from_numpy(np.array(blobs.points[:20]))
    order = torch.arange(rule.n_clusters).flip(0)
    torch.testing.assert_close(
        rule.select(order).log_probabilities(points), rule.log_probabilities(points).flip(1)
    )
    one = rule.select(order[:1])
    assert one.n_clusters == 1
    torch.testing.assert_close(one.log_probabilities(points), torch.zeros(20, 1).double())


def test_what_would_begin_a_cluster_of_its_own_is_unwanted(rule, system, blobs):
    points = torch.tensor([[-4.0, -2.0], [30.0, 40.0], [0.0, 5.0]]).double()
    new = system.seat(points[None], rule.sums[None])[0, :, -1].exp()
    assert torch.equal(rule.unwanted(points), new > 0.5)
