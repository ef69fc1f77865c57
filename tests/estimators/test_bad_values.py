import numpy as np
import pytest

from coterie.estimators.bad_values import (
    LARGEST,
    refuse_bad_values,
    refuse_huge,
    refuse_non_finite,
)


@pytest.mark.parametrize(
    ("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_non_finite_values_are_placed_and_counted(value, kind):
    table = np.zeros((4, 3))
    table[2, 1] = table[3, 0] = value
    with pytest.raises(ValueError, match=rf"contains {kind}.*: row 2, column 1 .*2 in all"):
        refuse_non_finite(table)


def test_non_finite_values_are_placed_by_the_name_of_the_column():
    with pytest.raises(ValueError, match="row 0, column 'b'"):
        refuse_non_finite(np.array([[0.0, np.nan]]), ["a", "b"])


def test_finite_values_pass():
    refuse_non_finite(np.array([[0.0, -1e300]]))


@pytest.mark.parametrize("sign", [1, -1])
def test_huge_values_are_placed(sign):
    table = np.zeros((4, 3))
    table[1, 2] = sign * 1e20
    with pytest.raises(ValueError, match=r"1e\+20: row 1, column 2; .* scale X down"):
        refuse_huge(table)


def test_large_values_pass():
    refuse_huge(np.array([[LARGEST, -LARGEST]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "contains NaN"),
        (np.inf, "contains infinity"),
        (-np.inf, "contains infinity"),
        (1e20, "scale X down"),
        (-1e20, "scale X down"),
    ],
)
@pytest.mark.parametrize("place", [(0, 0), (2, 1), (3, 2)])
def test_bad_values_are_found_wherever_they_are(dtype, value, words, place):
    table = np.ones((4, 3), dtype)
    table[place] = value
    with pytest.raises(ValueError, match=words) as refusal:
        refuse_bad_values(table)
    assert f"row {place[0]}, column {place[1]}" in str(refusal.value)


def test_bad_values_are_placed_by_the_name_of_the_column():
    with pytest.raises(ValueError, match="row 0, column 'b'"):
        refuse_bad_values(np.array([[0.0, 1e20]]), ["a", "b"])


def test_what_is_not_finite_is_named_before_what_is_huge():
    with pytest.raises(ValueError, match="contains NaN"):
        refuse_bad_values(np.array([[1e20, np.nan]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_good_table_costs_no_memory(dtype, tmp_path, peak_of):
    np.save(tmp_path / "x.npy", np.linspace(-LARGEST / 2, LARGEST, 1_000_000, dtype=dtype)[:, None])
    table = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert peak_of(lambda: refuse_bad_values(table)) < len(table) / 2
