import numpy as np
import pytest

from coterie.data.tables.table import SourceError
from coterie.playground.tables import read_points, scaled, true_clusters, width_of

IRIS = "id,petal,width,species\na,1.4,0.2,setosa\nb,4.7,1.4,versicolor\nc,1.3,0.2,setosa\n"


def test_numbers_are_read_and_text_is_left_out():
    table = read_points(IRIS)
    assert table.names == ("id", "petal", "width", "species")
    assert table.columns == ("petal", "width")
    assert {column.name for column in table.left_out} == {"id", "species"}
    np.testing.assert_array_equal(table.points, [[1.4, 0.2], [4.7, 1.4], [1.3, 0.2]])
    assert table.truth is None


def test_the_column_of_the_truth_is_not_clustered():
    table = read_points(IRIS, truth="species")
    assert table.truth.tolist() == [0, 1, 0]
    numbered = read_points("x,y,label\n1,2,7\n3,4,7\n5,6,2\n", truth="label")
    assert numbered.columns == ("x", "y")
    assert numbered.truth.tolist() == [1, 1, 0]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_separates_the_cells_is_found(separator):
    table = read_points(f"a{separator}b\n1{separator}2\n3{separator}4\n")
    np.testing.assert_array_equal(table.points, [[1, 2], [3, 4]])


def test_a_table_of_bare_numbers_has_no_header():
    table = read_points("1,2\n3,4\n")
    assert table.columns == ("x1", "x2")
    np.testing.assert_array_equal(table.points, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "truth", "reason"),
    [
        ("", "", "is empty"),
        ("a,b\n", "", "no rows"),
        ("a,b\nx,y\n", "", "no numeric column"),
        ("a,b\n1,2\n3\n", "", "Expected 2 columns"),
        ("a,b\n1,inf\n3,4\n", "", "an infinite value in row 1"),
        ("a,b\n1,2\n", "c", "no column 'c'"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(text, truth, reason):
    with pytest.raises(SourceError, match=reason) as refusal:
        read_points(text, truth=truth)
    assert "the CSV" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "/tmp" not in str(refusal.value)


def test_gaps_are_filled_and_said():
    table = read_points("a,b\n1,\n3,4\n5,6\n2,9\n")
    assert table.points.tolist() == [[1, 6], [3, 4], [5, 6], [2, 9]]
    assert table.notes == ("missing values filled with the median: 'b' (1 value)",)
    assert read_points(IRIS).notes == ()


def test_scaling_as_a_whole_keeps_the_shape():
    values = np.array([[0.0, 100.0], [10.0, 100.0], [20.0, 160.0]])
    result = scaled(values, "whole")
    assert np.abs(result).max() == pytest.approx(5.0)
    np.testing.assert_allclose(result.mean(0), 0, atol=1e-12)
    distance = np.linalg.norm(np.diff(values, axis=0), axis=1)
    after = np.linalg.norm(np.diff(result, axis=0), axis=1)
    np.testing.assert_allclose(after / distance, after[0] / distance[0])


def test_scaling_each_column_makes_them_alike():
    values = np.random.default_rng(0).normal(size=(200, 3)) * [1, 100, 1e-3]
    spread = scaled(values, "columns").std(0)
    np.testing.assert_allclose(spread, spread[0])


@pytest.mark.parametrize("scale", ["whole", "columns", "none"])
def test_equal_rows_stay_finite(scale):
    assert np.isfinite(scaled(np.ones((4, 2)), scale)).all()


def test_columns_can_be_chosen():
    table = read_points("a,b,c,kind\n1,2,3,x\n4,5,9,y\n", columns=["c", "a"], truth="kind")
    assert table.columns == ("a", "c")
    assert dict(table.left_out) == {"b": "not chosen", "kind": "excluded"}
    with pytest.raises(SourceError, match="no column 'd'"):
        read_points(IRIS, columns=["d"])


def test_a_long_table_tells_all_its_rows():
    table = read_points("a,b\n" + "1,2\n3,4\n" * 100, max_rows=50)
    assert table.n_rows == 200
    assert len(table.points) == 50


def test_the_width_is_that_of_the_first_line():
    assert width_of("a;b;c\n1;2;3\n") == 3
    assert width_of("") == 0


def test_cells_without_a_truth_are_unknown():
    assert true_clusters(["b", "", "a", "NA", "b"])[[1, 3]].tolist() == [-1, -1]
    known = true_clusters(["b", "", "a", "b"])
    assert known[0] == known[3] != known[2]
