import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.inference.context import draw_context, draw_weighted_context, evenly_spaced


def weighted(weights, size=10_000, seed=0):
    return draw_weighted_context(np.array(weights, float), size, np.random.RandomState(seed))


def test_all_points_where_they_fit():
    sample = draw_context(5, 5, np.random.RandomState(0))
    assert sample.rows.tolist() == [0, 1, 2, 3, 4]
    assert sample.counts is None


def test_else_some_of_them_once_each():
    rows = draw_context(1000, 50, np.random.RandomState(0)).rows
    assert len(set(rows)) == len(rows) == 50
    assert (np.diff(rows) > 0).all()
    assert rows.max() > 500


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30).filter(any))
def test_whole_numbers_repeat_the_points(weights):
    sample = weighted(weights)
    present = [weight for weight in weights if weight]
    expected = weights if len(set(present)) > 1 else [min(weight, 1) for weight in weights]
    assert sample.rows.tolist() == np.repeat(np.arange(len(weights)), expected).tolist()
    counts = [1] * len(weights) if sample.counts is None else sample.counts.tolist()
    assert counts == expected


@pytest.mark.parametrize("weight", [0.1, 1, 3])
def test_equal_weights_are_as_none(weight):
    sample = weighted([weight] * 100, size=30, seed=4)
    plain = draw_context(100, 30, np.random.RandomState(4))
    assert sample.rows.tolist() == plain.rows.tolist()
    assert sample.counts is None


@given(st.lists(st.floats(0, 5), min_size=2, max_size=40).filter(any), st.integers(0, 99))
def test_other_weights_are_expected_frequencies_but_for_rounding(weights, seed):
    sample = weighted(weights, seed=seed)
    share = np.array(weights) / sum(weights)
    drawn = np.bincount(sample.rows, minlength=len(weights))
    assert (abs(drawn - share * len(sample.rows)) < 1 + 1e-6).all()
    assert (drawn[share == 0] == 0).all()
    counts = np.ones(len(weights)) if sample.counts is None else sample.counts
    np.testing.assert_allclose(counts / counts.sum(), share, atol=1e-12)
    if (share * len(weights) % 1).any():
        assert counts.sum() in (
            pytest.approx(np.count_nonzero(weights)),
            pytest.approx(sum(weights)),
        )


def test_whole_numbers_beyond_the_context_are_drawn_to_fill_it():
    sample = weighted([1000, 0, 3000], size=100)
    assert np.bincount(sample.rows).tolist() == [25, 0, 75]
    assert sample.counts.tolist() == [1000, 0, 3000]


def test_a_draw_depends_on_the_random_state_alone():
    weights = np.random.default_rng(0).uniform(size=200)
    first, again, other = (weighted(weights, seed=seed).rows for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_nothing_at_all_is_refused():
    with pytest.raises(ValueError, match="all sample weights are zero"):
        weighted([0, 0])


@given(n_points=st.integers(1, 500), size=st.integers(1, 500))
def test_points_at_even_distances_stand_for_all(n_points, size):
    rows = evenly_spaced(n_points, size)
    assert len(rows) == min(n_points, size)
    step = max(1.0, n_points / size)
    gaps = np.diff(rows, prepend=-1, append=n_points)
    assert (gaps >= 1).all()  # in their order, none twice
    assert (abs(gaps[1:-1] - step) < 1).all()
    assert (gaps[[0, -1]] <= step / 2 + 1).all()  # and the ends are not left out
