import numpy as np
import pytest

from coterie.report.numerals import Numeral, numeral_of, percent, tick_numeral


def written(values, name="", value=None):
    values = np.asarray(values, dtype=float)
    return numeral_of(values, name)(values[0] if value is None else value)


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ([28000, 61000, 142000], "income", "28,000"),
        ([100100, 100101, 100102], "customer_id", "100100"),
        ([2019, 2020, 2021], "year", "2019"),
        ([13.724, 12.31, 14.02], "alcohol", "13.72"),
        ([27912.31, 61031.2, 39000.9], "income", "27,912"),
        ([0.01234, 0.0311, 0.0205], "rate", "0.0123"),
        ([-0.0001, 50.0, 80.5], "x", "0.0"),
        ([1.5e18, 3e18, 7e18], "x", "1.50 · 10¹⁸"),
        ([3.21e-9, 5e-9, 8e-9], "x", "3.21 · 10⁻⁹"),
        ([-4, 3, 9], "x", "-4"),
    ],
)
def test_numbers_are_written_as_people_write_them(values, name, expected):
    assert written(values, name) == expected


def test_medians_of_whole_numbers_may_lie_between_them():
    assert written([1, 2, 3, 4], value=2.5) == "2.5"


def test_a_column_of_one_other_value_than_zero_is_a_share():
    assert numeral_of(np.array([0.0, 0.48, 0.48])).share
    assert written([0.48, 0.0, 0.48]) == "yes"
    assert not numeral_of(np.array([0.0, 0.0])).share
    assert not numeral_of(np.array([1.0, 2.0])).share


@pytest.mark.parametrize(
    ("pair", "expected"),
    [((13.744, 12.291), ("13.7", "12.3")), ((0.6914, 1.0412), ("0.69", "1.04"))],
)
def test_pairs_have_the_decimals_that_tell_them_apart(pair, expected):
    assert Numeral(2).pair(*pair) == expected


def test_numbers_of_rows_keep_seven_digits():
    numeral = Numeral(2)
    assert numeral.exact(28000.0) == "28000"
    assert numeral.exact(13.24) == "13.24"
    assert numeral.exact(1 / 3) == "0.3333333"
    assert numeral.exact(0.0) == "0"
    assert float(numeral.exact(1.23e-12)) == pytest.approx(1.23e-12)


def test_ticks_have_the_decimals_of_their_step():
    halves = tick_numeral([0, 0.5, 1], Numeral(2))
    assert [halves(value) for value in (0, 0.5, 1)] == ["0.0", "0.5", "1.0"]
    assert tick_numeral([150_000, 200_000], Numeral(2))(200_000) == "200,000"
    assert tick_numeral([2019, 2020], Numeral(0, grouped=False))(2019) == "2019"
    assert tick_numeral([3.25], Numeral(2))(3.25) == "3.25"


def test_shares_are_never_none_or_all_by_rounding():
    assert [percent(s) for s in (0, 0.001, 0.314, 0.999, 1)] == ["0%", "<1%", "31%", ">99%", "100%"]
