import numpy as np
import pytest
from sklearn.decomposition import PCA

from coterie.frames.plain import fit_plain


def table(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, columns)) * np.arange(1, columns + 1)


def test_a_table_of_the_right_width_is_left_as_it_is():
    x = table(10, 3)
    np.testing.assert_array_equal(fit_plain(x, 3)(x), x.astype(np.float32))


def test_a_table_that_is_right_is_not_copied():
    x = table(10, 3).astype(np.float32)
    x.flags.writeable = False
    assert fit_plain(x, 3)(x) is x


@pytest.mark.parametrize("other", [np.asfortranarray, lambda x: x[:, ::-1], np.float64])
def test_another_layout_becomes_that_of_the_network(other):
    x = other(table(10, 3).astype(np.float32))
    mapped = fit_plain(x, 3)(x)
    assert mapped.flags.c_contiguous
    np.testing.assert_array_equal(mapped, x)


def test_missing_columns_are_zero():
    x = table(10, 1)
    mapped = fit_plain(x, 3)(x)
    np.testing.assert_array_equal(mapped[:, :1], x.astype(np.float32))
    assert (mapped[:, 1:] == 0).all()


def test_a_wide_table_becomes_its_principal_components():
    x = table(30, 5)
    mapped = fit_plain(x, 2)(x)
    left, singular, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    # The sign of a component is arbitrary.
    np.testing.assert_allclose(abs(mapped), abs(left[:, :2] * singular[:2]), rtol=1e-4, atol=1e-5)


def test_distances_survive_where_the_data_are_flat():
    flat = table(30, 2) @ np.random.default_rng(1).normal(size=(2, 6)) + 7.0
    mapped = fit_plain(flat, 2)(flat)

    def distances(x):
        return np.linalg.norm(x[:, None] - x, axis=-1)

    np.testing.assert_allclose(distances(mapped), distances(flat), rtol=1e-4, atol=1e-4)


def test_new_rows_take_the_way_of_the_old():
    x = table(30, 5)
    columns = fit_plain(x, 2)
    np.testing.assert_allclose(columns(x[4:9]), columns(x)[4:9], rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 2])
def test_fewer_rows_than_components(rows):
    x = table(rows, 5)
    mapped = fit_plain(x, 3)(x)
    assert mapped.shape == (rows, 3)
    assert np.isfinite(mapped).all()


def test_constant_columns_are_no_obstacle():
    assert (fit_plain(np.ones((10, 5)), 2)(np.ones((10, 5))) == 0).all()


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_the_network_reads_float32(columns):
    mapped = fit_plain(table(10, columns), 2)(table(10, columns))
    assert mapped.dtype == np.float32
    assert mapped.shape == (10, 2)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_no_rows_are_a_table_too(columns):
    assert fit_plain(table(10, columns), 2)(table(0, columns)).shape == (0, 2)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_components_are_those_of_scikit_learn(precision):
    x = table(40, 5).astype(precision)
    with np.errstate(all="ignore"):
        expected = PCA(2, svd_solver="covariance_eigh").fit_transform(x)
    np.testing.assert_allclose(fit_plain(x, 2)(x), expected.astype(np.float32), rtol=1e-5)


def test_rows_are_the_points_unless_they_were_projected():
    table = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_array_equal(fit_plain(table, 4).rows(table), table)
    with pytest.raises(ValueError, match="2 principal components of 3 columns"):
        fit_plain(table, 2).rows(table[:, :2])
