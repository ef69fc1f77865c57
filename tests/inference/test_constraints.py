import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coterie.functional.em import Gaussians
from coterie.inference import constraints as module
from coterie.inference.assignment import apply_labels
from coterie.inference.constraints import (
    Constraints,
    apply_constraints,
    without_empty,
    without_small,
)
from coterie.inference.rules.divided import DividedRule
from coterie.inference.rules.merged import MergedRule
from coterie.inference.rules.mixture import MixtureRule


def on_a_line(*centres, scale=1.0):
    mean = torch.tensor([[centre, 0.0] for centre in centres], dtype=torch.float64)
    weight = torch.zeros(len(centres), dtype=torch.float64).log_softmax(0)
    return MixtureRule(Gaussians(weight, mean, torch.full_like(mean, np.log(scale))))


def at(*places):
    return np.array([[place, 0.0] for place in places], dtype=np.float32)


@pytest.mark.parametrize(
    ("asked", "bounds"), [(None, (1, None)), (3, (3, 3)), ((2, 5), (2, 5)), ([1, 1], (1, 1))]
)
def test_a_number_or_a_range_of_clusters(asked, bounds):
    found = Constraints.of(asked, 4, True)
    assert (found.at_least, found.at_most) == bounds
    assert (found.min_cluster_size, found.noise) == (4, True)


@pytest.mark.parametrize("asked", [(5, 2), (0, 3), (1, 2, 3), (2,), (1.5, 2), ("a", "b")])
def test_no_such_number_is_refused(asked):
    with pytest.raises(ValueError, match=r"a number, or a range \(low, high\)"):
        Constraints.of(asked, 1, False)


def test_what_can_never_be_is_refused():
    Constraints(3, 3, 4).check(12)
    Constraints(min_cluster_size=100).check(3)  # one cluster always stays
    with pytest.raises(ValueError, match="n_clusters=4 exceeds the number of rows, 3"):
        Constraints(4, 9).check(3)
    with pytest.raises(ValueError, match=r"n_clusters=3 with min_cluster_size=4 needs 12 rows"):
        Constraints(3, 3, 4).check(11)


def test_nothing_is_done_where_nothing_is_asked_for():
    rule, points = on_a_line(0, 50, 99), at(0, 1, 98)
    assert apply_constraints(rule, points, points, Constraints()).rule is rule


def test_small_clusters_go_to_their_next_choice():
    points = at(*[0] * 9, *[10] * 3, *[22] * 2, *[30] * 8)
    rule = without_small(on_a_line(0, 10, 22, 30), points, 4)
    # Of the two at 22 the next choice is 30; those at 10 go to 0.
    assert np.bincount(apply_labels(rule, points)).tolist() == [12, 10]


def test_a_cluster_that_grows_in_time_stays():
    points = at(*[0] * 9, *[10] * 3, *[13] * 2, *[30] * 8)
    rule = without_small(on_a_line(0, 10, 13, 30), points, 4)
    assert np.bincount(apply_labels(rule, points)).tolist() == [9, 5, 8]


def test_the_latest_found_of_equals_goes():
    points = at(0, 0, 0, 10, 10, 20, 20)
    rule = without_small(on_a_line(0, 10, 20), points, 3)
    assert rule.mixture.mean[:, 0].tolist() == [0, 10]


def test_one_cluster_always_stays():
    points = at(0, 5, 9)
    assert without_small(on_a_line(0, 5, 9), points, 100).n_clusters == 1


def test_a_point_may_count_for_many():
    points = at(*[0] * 9, 10, *[30] * 8)
    counts = np.ones(18)
    counts[9] = 4
    assert without_small(on_a_line(0, 10, 30), points, 4).n_clusters == 2
    assert without_small(on_a_line(0, 10, 30), points, 4, counts=counts).n_clusters == 3


def test_dissolved_far_away_is_noise_where_there_is_noise():
    points = at(*[0] * 9, 1000, *[30] * 8)
    for noise, expected in ((True, -1), (False, 1)):
        rule = without_small(on_a_line(0, 1000, 30), points, 4, noise=noise)
        assert rule.n_clusters == 2
        assert apply_labels(rule, points, noise=noise)[9] == expected


def test_empty_clusters_are_left_out():
    rule = without_empty(on_a_line(0, 50, 99), at(0, 98))
    assert rule.mixture.mean[:, 0].tolist() == [0, 99]
    rule = without_empty(on_a_line(0, 50, 99), at(0, 98, 60), noise=True)
    assert rule.mixture.mean[:, 0].tolist() == [0, 99]


def test_rows_that_nobody_wants_at_all_are_no_noise():
    rule, points = on_a_line(0, 50), at(20, 24, 28, 32)
    found = apply_constraints(rule, points, points, Constraints(noise=True))
    assert not found.noise
    assert found.warnings == (module.ALL_NOISE,)
    assert apply_constraints(rule, at(0, 24), at(0, 24), Constraints(noise=True)).noise


@pytest.mark.parametrize(
    ("k", "kind"), [(2, MergedRule), (4, MixtureRule), (6, DividedRule), ((3, 5), MixtureRule)]
)
def test_clusters_are_joined_or_cut_only_where_need_be(k, kind):
    points = at(*np.add.outer([0, 10, 22, 30], np.linspace(-1, 1, 9)).ravel())
    found = apply_constraints(
        on_a_line(0, 10, 22, 30), points, points, Constraints.of(k, 1, False)
    ).rule
    assert type(found) is kind


def test_the_number_of_clusters_has_the_last_word():
    points = at(0, 1, 2, 3, 30, 31)
    asked = Constraints.of(2, 3, False)
    labels = apply_labels(apply_constraints(on_a_line(0, 30), points, points, asked).rule, points)
    assert sorted(np.bincount(labels)) == [3, 3]
    doubled = at(0, 0, 0, 0, 0, 30)
    labels = apply_labels(
        apply_constraints(on_a_line(0, 30), doubled, doubled, asked).rule, doubled
    )
    assert sorted(np.bincount(labels)) == [1, 5]


sets = st.lists(st.integers(-40, 40), min_size=1, max_size=30)


@given(sets, sets, st.integers(1, 8), st.integers(0, 8), st.integers(1, 5), st.booleans())
def test_constraints_hold_or_are_refused(places, centres, low, more, min_size, noise):
    points, rule = at(*places), on_a_line(*centres)
    asked = Constraints(low, low + more, min_size, noise)
    try:
        asked.check(len(points))
        rule, told, _ = apply_constraints(rule, points, points, asked)
    except ValueError:
        inside = apply_labels(rule, points, noise=noise) != -1
        wanted = len(set(np.array(places)[inside])) or len(set(places))
        # Dissolving clusters may make noise of their points, never of those that others want.
        assert wanted < low or low * min_size > len(points) or (noise and min_size > 1)
        return
    labels = apply_labels(rule, points, noise=told)
    found = set(labels) - {-1}
    assert found == set(range(rule.n_clusters))
    assert low <= len(found) <= low + more
    if low == 1 and more and len(found) > 1:
        assert np.bincount(labels[labels >= 0]).min() >= min_size


@given(sets, sets, st.integers(2, 10), st.integers(1, 5), st.booleans())
def test_clusters_have_their_size_whatever_the_chunk(places, centres, size, chunk, noise):
    points = at(*places)
    asked = Constraints(min_cluster_size=size, noise=noise)
    rule, told, _ = apply_constraints(on_a_line(*centres), points, points, asked, chunk_size=chunk)
    labels = apply_labels(rule, points, noise=told)
    sizes = np.bincount(labels[labels >= 0], minlength=rule.n_clusters)
    assert rule.n_clusters == 1 or sizes.min() >= size
    assert sizes.all()
