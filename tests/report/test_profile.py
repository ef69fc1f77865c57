import numpy as np
import pytest

from coterie.report.plane import spread
from coterie.report.profile import (
    cluster_medians,
    compared,
    differences,
    least_certain,
    profiles,
    traits,
    typical_rows,
)


def test_the_score_is_how_far_others_lie_in_units_of_the_own_spread():
    inside = np.array([9.0, 10.0, 11.0, 10.0, 9.5])[:, None]  # median 10, usual distance 0.5
    rest = np.array([0.0, 5.0, 20.0])[:, None]  # usual distance from 10: 10
    points = np.concatenate([inside, rest])
    member = np.arange(8) < 5
    (found,) = differences(points, member, np.array([1.0]))
    assert found.score == pytest.approx(10 / 0.5)
    assert (found.inside, found.elsewhere) == (10, 5)


def test_columns_that_differ_most_come_first_and_noise_not_at_all():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(600, 4))
    member = np.arange(600) < 200
    points[member, 2] += 8
    points[member, 1] -= 4
    found = differences(points, member, spread(points))
    assert [each.column for each in found] == [2, 1]


def test_a_cluster_between_two_others_differs_though_the_medians_do_not():
    generator = np.random.default_rng(0)
    points = np.concatenate([generator.normal(at, 0.1, (100, 1)) for at in (-5, 0, 5)])
    (found,) = differences(points, np.repeat([False, True, False], 100), spread(points))
    assert found.score > 20


def test_outliers_decide_nothing():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(400, 1))
    member = np.arange(400) < 200
    points[::50] = 1e6
    assert differences(points, member, spread(points)) == ()


def test_a_constant_cluster_does_not_divide_by_zero():
    points = np.array([[1.0], [1.0], [3.0], [4.0]])
    (found,) = differences(points, np.array([True, True, False, False]), spread(points))
    assert np.isfinite(found.score)


def test_the_only_cluster_differs_from_nothing():
    assert differences(np.zeros((3, 2)), np.ones(3, dtype=bool), np.ones(2)) == ()


def test_typical_rows_are_sure_ones_near_the_middle():
    points = np.array([[9.0], [0.0], [0.1], [3.0], [0.2], [50.0]])
    members = np.array([0, 1, 2, 3, 4])
    confidence = np.array([1.0, 0.4, 1.0, 1.0, 1.0, 1.0])
    assert typical_rows(points, members, confidence)[:2].tolist() == [4, 2]
    assert 1 not in typical_rows(points, members, confidence)[:4]


def test_profiles_are_of_all_clusters_with_rows_of_their_own(blobs):
    found = profiles(blobs.points, blobs.labels, np.ones(300))
    assert [profile.cluster for profile in found] == [0, 1, 2]
    for profile in found:
        assert len(profile.typical) == 5
        assert (blobs.labels[profile.typical] == profile.cluster).all()
        centre = blobs.points[blobs.labels == profile.cluster].mean(0)
        assert np.linalg.norm(blobs.points[profile.typical] - centre, axis=1).max() < 0.2


def test_the_least_certain_rows_come_in_their_order():
    assert least_certain(np.array([0.9, 0.2, 1.0, 0.5]), 3).tolist() == [1, 3, 0]


def test_rows_that_are_certain_are_not_uncertain():
    assert least_certain(np.array([1.0, 0.99999, 0.5, 1.0])).tolist() == [2]
    assert len(least_certain(np.ones(5))) == 0


def test_medians_are_of_each_cluster_and_shares_of_categories():
    points = np.array([[1.0, 0.0], [3.0, 0.3], [5.0, 0.3], [9.0, 0.0], [77.0, 0.3]])
    labels = np.array([0, 0, 0, 2, -1])
    found = cluster_medians(points, labels, np.array([False, True]), 3)
    np.testing.assert_allclose(found, [[3, 2 / 3], [0, 0], [9, 0]])


def test_traits_are_shifts_of_the_median_first_and_then_a_place_between_others():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    between = np.take([-5.0, 0.0, 5.0], labels) + generator.normal(0, 0.1, 300)
    shifted = np.where(labels == 1, 4.0, 0.0) + generator.normal(size=300)
    narrow = generator.normal(size=300) * np.where(labels == 1, 0.9, 1)
    points = np.column_stack([between, shifted, narrow])
    found = traits(compared(points, labels == 1, spread(points)))
    assert [each.column for each in found] == [1, 0]
    assert found[0].shift > 3
