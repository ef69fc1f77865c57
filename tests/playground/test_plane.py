import numpy as np
import pytest

from coterie.playground.plane import place_points


def shops(n=300):
    """Customers of three kinds: by age and visits, with an income in euros and a number."""
    generator = np.random.default_rng(0)
    kind = np.repeat(range(3), n // 3)
    age = np.array([25, 45, 70])[kind] + generator.normal(size=n) * 2
    visits = np.array([30, 5, 18])[kind] + generator.normal(size=n)
    income = generator.lognormal(10, 0.5, size=n)
    return np.column_stack([np.arange(n), income, age, visits]), kind


def test_columns_of_large_units_do_not_make_the_picture():
    points, kind = shops()
    drawn = place_points(points, ("id", "income", "age", "visits"))
    middles = np.array([drawn.places[kind == each].mean(0) for each in range(3)])
    distance = np.linalg.norm(drawn.places[:, None] - middles, axis=2)
    assert (distance.argmin(1) == kind).mean() > 0.95
    assert not drawn.is_own


def test_latitude_is_vertical():
    generator = np.random.default_rng(0)
    places = generator.normal([[48.1, 11.6]], 0.1, size=(50, 2))
    drawn = place_points(places, ("lat", "lon"))
    assert drawn.axes == ("lon", "lat")
    np.testing.assert_array_equal(drawn.places[:, 0], places[:, 1])
    assert (np.diff(drawn.places[np.argsort(places[:, 0]), 1]) > 0).all()
    assert not drawn.is_own


def test_two_columns_of_one_unit_are_drawn_as_they_are():
    points = np.random.default_rng(0).normal(size=(20, 2))
    drawn = place_points(points, ("x", "y"))
    np.testing.assert_array_equal(drawn.places, points)
    assert drawn.is_own


def test_two_columns_of_different_units_fill_the_canvas():
    points = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 1e5]
    drawn = place_points(points, ("age", "income"))
    width, height = np.ptp(drawn.places, axis=0)
    assert width == pytest.approx(4 / 3 * height)
    assert not drawn.is_own


def test_one_column_keeps_its_place_and_is_spread_aside():
    drawn = place_points(np.array([[1.0], [1.0], [3.0]]), ("size",))
    assert drawn.places[0, 0] == drawn.places[1, 0] < drawn.places[2, 0]
    assert drawn.places[0, 1] != drawn.places[1, 1]
    assert drawn.axes == ("size", "")


def test_equal_and_single_rows_have_a_place():
    for points in (np.ones((5, 4)), np.ones((1, 3)), np.ones((3, 2)), np.ones((1, 1))):
        drawn = place_points(points, tuple("abcd"[: points.shape[1]]))
        assert np.isfinite(drawn.places).all()
        assert drawn.places.shape == (len(points), 2)
