"""Views: the same whatever the units, and none twice."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from coterie.frames.standard import fit_standard
from coterie.judge.views import axes_above_noise, make_views, normal_scores, singular_values

NAMES = ("all", "axes2", "axes4", "axes8", "rank")


def views_of(table):
    return make_views(fit_standard(table, 16).in_units(table), 16, NAMES)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 6)) * np.arange(1, 7) + 3 * rng.integers(0, 2, size=(400, 1))


def test_no_view_is_there_twice(table):
    assert [view.name for view in views_of(table)] == [name for name in NAMES if name != "axes8"]
    assert [view.name for view in views_of(table[:, :2])] == ["all", "rank"]


def test_units_do_not_matter(table):
    for one, other in zip(views_of(table), views_of(10 * table - 3), strict=True):
        np.testing.assert_allclose(one.points, other.points, atol=1e-3)


def test_noise_has_no_axis_above_noise():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1_000, 20))
    assert axes_above_noise(singular_values(noise), *noise.shape) <= 1
    noise[:, :5] += 2 * rng.normal(size=(1_000, 1))
    units = noise / noise.std(0)
    assert axes_above_noise(singular_values(units), *units.shape) == 1


def test_normal_scores_are_the_quantiles_of_mean_ranks(table):
    table[:, 1] = table[:, 1].round()  # many equal values
    expected = ndtri((rankdata(table, axis=0) - 0.5) / len(table))
    np.testing.assert_array_equal(normal_scores(table), expected)
