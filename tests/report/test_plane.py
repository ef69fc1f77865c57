import sys
from types import ModuleType

import numpy as np
import pytest

from coterie.report.plane import plane_of, spread, standardised


@pytest.fixture(autouse=True)
def _no_umap(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_two_columns_are_drawn_as_they_are():
    points = np.random.default_rng(0).normal(size=(5, 2))
    plane = plane_of(points, ("a", "b"))
    np.testing.assert_array_equal(plane.places, points)
    assert plane.axes == ("a", "b")


def test_one_column_is_spread_without_a_name_for_the_height():
    plane = plane_of(np.zeros((50, 1)), ("a",))
    assert plane.axes == ("a", "")
    assert len(np.unique(plane.places[:, 1])) == 50


def test_more_columns_are_drawn_as_the_network_read_them():
    points, read = np.random.default_rng(0).normal(size=(2, 6, 4))
    plane = plane_of(points, tuple("abcd"), read)
    np.testing.assert_array_equal(plane.places, read[:, :2])
    assert "the network's input" in plane.method


def test_otherwise_along_the_main_axes_of_standardised_columns():
    generator = np.random.default_rng(0)
    hidden = generator.normal(size=(200, 1))
    points = hidden @ np.array([[1.0, 1000.0, -1e-3]]) + generator.normal(size=(200, 3)) * [
        0.01,
        10,
        1e-5,
    ]
    plane = plane_of(points, tuple("abc"))
    along = abs(np.corrcoef(plane.places[:, 0], hidden[:, 0])[0, 1])
    assert along > 0.999


def test_umap_is_used_where_it_is_installed(monkeypatch):
    class UMAP:
        def __init__(self, n_neighbors, random_state):
            self.n_neighbors = n_neighbors

        def fit_transform(self, points):
            return points[:, :2] + self.n_neighbors

    fake = ModuleType("umap")
    fake.UMAP = UMAP
    monkeypatch.setitem(sys.modules, "umap", fake)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "umap" or None)
    points = np.random.default_rng(0).normal(size=(10, 3))
    plane = plane_of(points, tuple("abc"), points)
    np.testing.assert_allclose(plane.places, standardised(points)[:, :2] + 9)
    assert plane.method == "UMAP of 3 columns"


def test_spread_is_a_standard_deviation_that_outliers_do_not_move():
    values = np.random.default_rng(0).normal(3, 2, size=(10_000, 1))
    values[:100] = 1e9
    assert spread(values)[0] == pytest.approx(2, rel=0.05)


def test_columns_that_hardly_vary_have_a_spread_all_the_same():
    column = np.zeros((10, 2))
    column[0, 0] = 5
    assert spread(column).tolist() == [1.5, 1.0]


@pytest.mark.parametrize("n", [1, 2])
def test_a_few_rows_have_a_place_too(n):
    assert np.isfinite(plane_of(np.zeros((n, 3)), tuple("abc")).places).all()
