import numpy as np
import pytest

from coterie.inference.drift import EXPECTED, MAX_PLACES, Familiar


def familiar(points, labels=None):
    labels = np.zeros(len(points), dtype=np.intp) if labels is None else labels
    return Familiar.of(points, labels, points.min(0), points.max(0))


@pytest.mark.parametrize("n", [300, 1_000, 5_000])
@pytest.mark.parametrize("columns", [1, 2, 8])
def test_few_rows_of_the_same_kind_are_unlike(n, columns):
    random = np.random.default_rng(0)
    known = familiar(random.normal(size=(n, columns)))
    again = random.normal(size=(4_000, columns))
    assert known.unlike(again, again).mean() < 3 * EXPECTED


def test_rows_from_elsewhere_are_unlike():
    random = np.random.default_rng(0)
    known = familiar(random.normal(size=(500, 2)))
    moved = random.normal((6, 0), 1, (500, 2))
    assert known.unlike(moved, moved).mean() > 0.9


def test_each_cluster_has_a_spacing_of_its_own():
    random = np.random.default_rng(0)
    dense, sparse = random.normal(0, 0.01, (400, 2)), random.normal(0, 1, (400, 2)) + 20
    known = familiar(np.concatenate([dense, sparse]), np.repeat([0, 1], 400))
    near = np.array([[0.2, 0.2]])
    assert known.unlike(near, near).all()
    beside = np.array([[20.2, 20.2]])
    assert not known.unlike(beside, beside).any()


def test_a_value_far_out_of_range_is_unlike_even_where_the_network_does_not_look():
    random = np.random.default_rng(0)
    points, table = random.normal(size=(200, 2)), random.uniform(0, 1, (200, 3))
    known = Familiar.of(points, np.zeros(200, dtype=np.intp), table.min(0), table.max(0))
    later = table.copy()
    later[:50, 2] *= 100
    unlike = known.unlike(points, later)
    assert unlike[:50].mean() > 0.9
    assert unlike[50:].mean() < 0.05
    counted = known.beyond(later)
    assert counted[0] == counted[1] == 0
    assert counted[2] > 40


def test_it_does_not_grow_with_the_rows():
    assert len(familiar(np.random.default_rng(0).normal(size=(9_000, 2))).limit) == MAX_PLACES


@pytest.mark.parametrize("points", [np.zeros((1, 2)), np.zeros((50, 2)), np.eye(2)])
def test_tables_that_say_little_are_no_obstacle(points):
    known = familiar(points)
    assert not known.unlike(points, points).any()
    far = points + 100
    assert known.unlike(far, far).all()
