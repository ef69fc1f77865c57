import numpy as np
import pytest

from bench.timing import exponent, spread, timed

SIZES = [10**power for power in range(4, 8)]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_recovered(power):
    values = [3e-6 * size**power for size in SIZES]
    assert exponent(SIZES, values) == pytest.approx(power, abs=1e-9)


def test_the_exponent_is_the_least_squares_slope():
    values = np.random.default_rng(0).uniform(1, 9, len(SIZES))
    design = np.stack([np.log(SIZES), np.ones(len(SIZES))], 1)
    slope = np.linalg.lstsq(design, np.log(values), rcond=None)[0][0]
    assert exponent(SIZES, list(values)) == pytest.approx(slope)


@pytest.mark.parametrize(("sizes", "values"), [([], []), ([10], [1.0]), ([10, 100], [0.0, 1.0])])
def test_too_few_values_have_no_exponent(sizes, values):
    assert exponent(sizes, values) is None


def test_spread_against_numpy():
    seconds = [0.5, 0.1, 0.9, 0.3]
    found = spread(seconds)
    assert (found.lower, found.upper) == tuple(np.percentile(seconds, [25, 75]))
    assert (found.median, found.repeats) == (np.median(seconds), 4)


def test_timed_gives_what_the_call_gave():
    result, seconds = timed(lambda: "answer")
    assert result == "answer"
    assert seconds >= 0
