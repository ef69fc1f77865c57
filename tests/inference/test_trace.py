"""The trace of a glance, told of all points."""

import numpy as np
import pytest
from scipy.special import expit

import coterie

WEIGHTS = {"amcp": coterie.AMCP, "dac": coterie.DAC}


@pytest.fixture(scope="module")
def points():
    centres = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    noise = np.random.default_rng(0).normal(scale=0.4, size=(600, 2))
    return centres[np.arange(600) % 3] + noise


@pytest.mark.parametrize("system", WEIGHTS)
def test_a_whole_trace_tells_of_every_row_and_changes_nothing_else(system, points):
    glanced, whole = (
        WEIGHTS[system](f"{system}-mog2d", whole_trace=wanted).fit(points)
        for wanted in (False, True)
    )
    np.testing.assert_array_equal(whole.probabilities_, glanced.probabilities_)
    assert len(glanced.trace_[0].offered) == 128
    assert len(whole.trace_[0].offered) == 600
    assert len(whole.trace_) == len(glanced.trace_) > 1
    for step, seen in zip(whole.trace_, glanced.trace_, strict=True):
        assert set(seen.claimed) <= set(step.claimed)
        among = np.isin(step.offered, seen.offered)
        np.testing.assert_allclose(step.probabilities[among], seen.probabilities, atol=1e-3)


def test_rows_are_claimed_once_and_offered_until_then(points):
    offered = np.arange(len(points))
    for step in coterie.AMCP("amcp-mog2d", whole_trace=True).fit(points).trace_:
        np.testing.assert_array_equal(step.offered, offered)
        assert set(step.claimed) <= set(offered)
        likely = step.offered[step.probabilities > expit(0.01)]
        assert set(likely) <= set(step.claimed)
        offered = np.setdiff1d(offered, step.claimed)
    assert len(offered) < 0.02 * len(points)


def test_a_row_that_weighs_twice_is_told_of_once():
    points = np.random.default_rng(1).normal(size=(300, 2))
    model = coterie.AMCP("amcp-mog2d", whole_trace=True)
    weights = 1 + np.arange(300) % 2
    trace = model.fit(points, sample_weight=weights).trace_
    np.testing.assert_array_equal(trace[0].offered, np.arange(300))
