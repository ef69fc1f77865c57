import numpy as np
import pytest

from coterie.mixtures import axis_cuts
from coterie.mixtures.axis_cuts import best_cuts, with_cuts
from coterie.mixtures.covariances import with_reach
from coterie.mixtures.shared_fit import cloud_of, fit_from, members


def one_fit(points):
    cloud = cloud_of(points - points.mean(0))
    return cloud, fit_from(cloud, members(np.zeros(len(points), dtype=int)), 16.0, steps=2)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_two_clusters_are_cut_apart(d):
    rng = np.random.default_rng(d)
    labels = np.repeat([0, 1], [70, 50])
    points = rng.standard_normal((120, d))
    points[:, 0] += 5 * labels
    (cut,) = best_cuts(*one_fit(points))
    assert cut.gain > 10
    side = cut.shares.argmax(0)
    assert max((side == labels).mean(), (side != labels).mean()) > 0.98


def test_a_narrow_direction_is_found_beside_a_wide_one():
    """Two clusters apart in a column of a tenth of the others' variance."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    points = rng.standard_normal((200, 5)) * [10, 10, 10, 10, 0.2]
    points[:, 4] += 1.4 * labels
    (cut,) = best_cuts(*one_fit(points))
    side = cut.shares.argmax(0)
    assert max((side == labels).mean(), (side != labels).mean()) > 0.97


def test_one_gaussian_gains_nothing():
    rng = np.random.default_rng(1)
    for _ in range(5):
        assert all(cut.gain < 0 for cut in best_cuts(*one_fit(rng.standard_normal((200, 3)))))


def test_few_or_equal_points_are_left_alone():
    assert best_cuts(*one_fit(np.arange(14.0).reshape(7, 2))) == []
    points = np.zeros((30, 2))
    points[0] = 1
    for cut in best_cuts(*one_fit(points)):
        assert np.isfinite(cut.gain)


def test_round_off_is_no_spread():
    """A column of one value, for whose round-off the deviation is zero or hardly more."""
    for value in (2.0**-52, 1e-14):
        centred = np.c_[np.full(64, value), np.resize([1.5, -1.5], 64)]
        across = axis_cuts._projections(centred, np.eye(2))
        for one_variance in (False, True):
            assert np.isfinite(axis_cuts._best_side(across, one_variance=one_variance).gain)


def test_cuts_do_not_depend_on_those_beside_them():
    """Components that are not cut, because they are asked for one by one, change nothing."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [90, 60, 40])
    points = rng.standard_normal((190, 2)) + 7 * labels[:, None] + 3 * (np.arange(190) % 2)[:, None]
    cloud = cloud_of(points - points.mean(0))
    fit = fit_from(cloud, members(labels), 16.0, steps=2)
    frame = with_reach(cloud.frame, fit.parts)
    wholes = axis_cuts._wholes(cloud, fit, frame)
    sides = [each.centred[:, 0] > 0 for each in wholes]
    together = axis_cuts._settled(cloud, fit, frame, wholes, sides, 4)
    for whole, side, cut in zip(wholes, sides, together, strict=True):
        (alone,) = axis_cuts._settled(cloud, fit, frame, [whole], [side], 4)
        assert alone.gain == pytest.approx(cut.gain)
        np.testing.assert_allclose(alone.shares, cut.shares, atol=1e-9)


def test_responsibilities_still_sum_to_one():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((90, 2)) + 6 * (np.arange(90) % 3)[:, None]
    cloud = cloud_of(points - points.mean(0))
    fit = fit_from(cloud, members((np.arange(90) % 3 > 0).astype(int)), 16.0, steps=3)
    cuts = best_cuts(cloud, fit)
    assert cuts[0].gain > 0 > cuts[1].gain
    shared = with_cuts(fit, cuts[:1])
    assert shared.shape == (3, 90)
    assert shared.sum(0) == pytest.approx(1)
