import sys
from types import ModuleType

import numpy as np
import pytest

from coterie.frames.standard import fit_standard
from coterie.report.plane import plane_of, plane_of_posteriors, spread, standardised
from coterie.report.separation import separation


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
    plane = plane_of(points, tuple("abc"), points, umap=True)
    np.testing.assert_allclose(plane.places, standardised(points)[:, :2] + 9)
    assert plane.method == "UMAP of 3 columns"
    assert "UMAP" not in plane_of(points, tuple("abc"), points).method


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


def customers(n=600):
    """Ids, incomes of large numbers that tell nothing, and two columns that tell the clusters."""
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], n // 3)
    ids = 100_000 + generator.permutation(n)
    income = generator.lognormal(11, 0.5, n)
    age = np.take([25, 45, 65], labels) + generator.normal(0, 2, n)
    rate = np.take([0.1, 0.3, 0.1], labels) + generator.normal(0, 0.01, n)
    noise = generator.normal(size=(n, 3))
    points = np.column_stack([ids, income, age, noise[:, 0], rate, noise[:, 1:]])
    names = ("customer_id", "income", "age", "u", "rate", "v", "w")
    return points, names, labels


def test_columns_that_separate_the_clusters_better_than_the_axes_are_drawn_in_their_units():
    points, names, labels = customers()
    read = fit_standard(points, 16)(points)
    plane = plane_of(points, names, read, labels)
    assert plane.axes == ("age", "rate")
    assert plane.columns == (2, 4)
    np.testing.assert_array_equal(plane.places, points[:, [2, 4]])
    assert separation(plane.places, labels) > 0.99 > separation(read[:, :2].astype(float), labels)


def test_axes_that_separate_the_clusters_better_than_any_two_columns_are_kept():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 200)
    centres = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    hidden = centres[labels] @ generator.choice([-1.0, 1.0], (2, 12))
    points = hidden + generator.normal(0, 1.2, hidden.shape)
    read = fit_standard(points, 16)(points)
    plane = plane_of(points, [f"c{j}" for j in range(12)], read, labels)
    assert plane.columns == ()
    np.testing.assert_array_equal(plane.places, read[:, :2])


def test_columns_without_names_and_single_clusters_are_drawn_on_the_axes():
    points, names, labels = customers()
    read = fit_standard(points, 16)(points)
    assert plane_of(points, None, read, labels).columns == ()
    assert plane_of(points, names, read, np.zeros_like(labels)).columns == ()


def test_latitude_is_vertical_wherever_the_columns_stand():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    lat = np.take([60.0, 59.0], labels) + generator.normal(0, 0.1, 100)
    lon = np.take([10.0, 12.0], labels) + generator.normal(0, 0.1, 100)
    two = plane_of(np.column_stack([lat, lon]), ("lat", "lon"))
    assert two.axes == ("lon", "lat")
    np.testing.assert_array_equal(two.places[:, 1], lat)
    assert two.stretch == pytest.approx(2, rel=0.05)  # at 60 degrees
    more = np.column_stack([lat, generator.normal(size=(100, 2)), lon])
    chart = plane_of(more, ("Latitude", "a", "b", "Longitude"), more, labels)
    assert chart.axes == ("Longitude", "Latitude")
    scattered = plane_of(
        more, ("Latitude", "a", "b", "Longitude"), more, (more[:, 1] > 0).astype(int)
    )
    assert "a" in scattered.axes  # the clusters lie everywhere on the map


def test_a_certain_point_stands_with_its_cluster_and_a_doubtful_one_between():
    plane = plane_of_posteriors(np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0.25] * 4]))
    np.testing.assert_allclose(plane.places, [[1, 0], [-0.5, 0.5], [0, 0]], atol=1e-12)
