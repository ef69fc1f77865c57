from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.systems.protocol import (
    Commit,
    State,
    claimed_labels,
    cluster_numbers,
    everything_remains,
    nothing_left,
    require_labels,
)


def claims(*rows: list[int]) -> Commit:
    joined = torch.tensor(rows, dtype=torch.bool)
    return Commit(joined, torch.zeros(joined.shape), ())


def serving(clusters: list[int], *rows: list[int]) -> Commit:
    return replace(claims(*rows), cluster=torch.tensor(clusters))


def three_points(n_sets: int = 1) -> SetBatch:
    return SetBatch(torch.zeros(n_sets, 3, 2), torch.ones(n_sets, 3, dtype=torch.bool))


def test_everything_valid_remains_at_the_start():
    mask = torch.tensor([[True, False, True]])
    state = everything_remains(SetBatch(torch.zeros(1, 3, 2), mask))
    assert torch.equal(state.remaining, mask)
    assert (state.commits, state.encoded) == ((), None)


def test_claimed_points_do_not_remain():
    start = everything_remains(three_points())
    after = start.after(claims([0, 1, 0]))
    assert after.remaining.tolist() == [[True, False, True]]
    assert start.remaining.all()


def test_what_a_step_encoded_is_left_to_the_next_and_kept_by_nobody():
    first, second = replace(claims([1, 0, 0]), encoded="once"), claims([0, 1, 0])
    state = everything_remains(three_points()).after(first)
    assert state.encoded == "once"
    assert [commit.encoded for commit in state.commits] == [None]
    assert state.after(second).encoded is None


def test_commits_are_kept_in_their_order():
    first, second = claims([1, 0, 0]), claims([0, 1, 0])
    state = everything_remains(three_points()).after(first).after(second)
    assert state.commits == (first, second)


def test_nothing_is_left_once_all_points_are_claimed():
    state = everything_remains(three_points(2))
    assert nothing_left(state).tolist() == [False, False]
    assert nothing_left(state.after(claims([1, 1, 1], [1, 0, 0]))).tolist() == [True, False]


def test_nothing_is_left_after_a_step_without_claims():
    state = everything_remains(three_points(2)).after(claims([0, 0, 0], [1, 0, 0]))
    assert nothing_left(state).tolist() == [True, False]


def test_claimed_labels_number_the_steps_and_leave_the_rest_out():
    commits = (claims([0, 1, 0, 0], [1, 1, 0, 0]), claims([1, 0, 0, 1], [0, 0, 0, 0]))
    assert claimed_labels(commits).tolist() == [[1, 0, -1, 1], [0, 0, -1, -1]]


def test_claimed_labels_are_the_clusters_that_steps_name():
    commits = (
        serving([0, 0], [0, 1, 0, 0], [1, 0, 0, 0]),
        serving([1, 0], [1, 0, 0, 0], [0, 1, 0, 0]),
        serving([0, 1], [0, 0, 0, 1], [0, 0, 1, 0]),
    )
    assert claimed_labels(commits).tolist() == [[1, 0, -1, 0], [0, 0, 1, -1]]


def test_steps_that_name_no_cluster_serve_a_new_one_each():
    commits = [claims([1, 0, 0]), claims([0, 1, 0]), claims([0, 0, 1])]
    assert cluster_numbers(commits).tolist() == [0, 1, 2]


def test_steps_serve_the_clusters_that_they_name():
    commits = [serving([0, 0], [1], [1]), serving([1, 0], [1], [1]), serving([0, 1], [1], [1])]
    assert cluster_numbers(commits).tolist() == [0, 1, 0]
    gaps = [serving([number], [1]) for number in (0, 3, 0)]
    assert cluster_numbers(gaps).tolist() == [0, 1, 0]


def test_steps_that_nobody_joined_are_left_out():
    first, nobody, last = claims([1, 0, 0]), claims([0, 0, 0]), claims([0, 1, 0])
    state = everything_remains(three_points()).after(first).after(nobody).after(last)
    assert state.with_points() == (first, last)
    assert everything_remains(three_points()).with_points() == ()


def test_states_and_commits_are_frozen():
    with pytest.raises(FrozenInstanceError):
        everything_remains(three_points()).commits = ()
    with pytest.raises(FrozenInstanceError):
        claims([1, 0, 0]).joined = None


def test_labels_under_the_mask_are_never_read():
    mask = torch.tensor([[True, False, True]])
    batch = SetBatch(torch.zeros(1, 3, 2), mask, torch.tensor([[1, 2, 0]]))
    assert require_labels(batch).tolist() == [[1, -1, 0]]


def test_missing_labels_are_refused():
    with pytest.raises(ValueError, match="no labels"):
        require_labels(three_points())


def test_state_needs_no_more_than_a_batch_and_what_remains():
    batch = three_points()
    assert State(batch, batch.mask).commits == ()
