"""The trace of a network that saw some of the points, told of all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit

import coterie
from coterie.data.batch import SetBatch
from coterie.inference.endings import Context
from coterie.inference.loop import find_clusters
from coterie.inference.proposal import Proposal
from coterie.inference.second_look import Look
from coterie.inference.trace import trace
from coterie.weights.catalogue import open_model

WEIGHTS = {"amcp": coterie.AMCP, "dac": coterie.DAC}


@pytest.fixture(scope="module")
def points():
    centres = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    noise = np.random.default_rng(0).normal(scale=0.4, size=(600, 2))
    return centres[np.arange(600) % 3] + noise


@pytest.mark.parametrize("system", WEIGHTS)
def test_a_whole_trace_tells_of_every_row_and_changes_nothing_else(system, points):
    partial, whole = (
        WEIGHTS[system](f"{system}-mog2d", whole_trace=wanted).fit(points)
        for wanted in (False, True)
    )
    np.testing.assert_array_equal(whole.probabilities_, partial.probabilities_)
    assert len(partial.trace_[0].offered) == 128
    assert len(whole.trace_[0].offered) == 600
    assert len(whole.trace_) == len(partial.trace_) > 1
    for step, seen in zip(whole.trace_, partial.trace_, strict=True):
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


@pytest.mark.parametrize("frame", [None, lambda points: (0.5 * points).astype(np.float32)])
def test_the_whole_trace_tells_of_the_clusters_after_a_second_look(frame):
    """Two groups in one commit, which a second look divided; half of the points were shown."""
    network = open_model("amcp-mog2d")[0]
    draw = np.random.default_rng(0)
    points = np.concatenate([draw.normal(x, 0.2, (40, 2)) for x in (-2, 2)]).astype(np.float32)
    rows = np.arange(len(points))
    seen = rows[::2]
    shown = torch.from_numpy(points[seen])
    whole = find_clusters(network, SetBatch.single(shown)).commits[0]
    everything = torch.ones(1, len(seen), dtype=torch.bool)
    whole = replace(whole, joined=everything, membership_logits=torch.full((1, len(seen)), 5.0))
    inside = shown if frame is None else torch.from_numpy(frame(points[seen]))
    parts = find_clusters(network, SetBatch.single(inside)).with_points()
    assert len(parts) == 2
    looked = Look(whole, torch.arange(len(seen)), parts, frame)
    context = Context(points, rows, seen, None, "cpu")
    steps = trace(Proposal(network, (whole,), (looked,)), context, whole=True)
    assert len(steps) == 2
    for step, part in zip(steps, parts, strict=True):
        assert set(seen[part.joined[0].numpy()]) <= set(step.claimed)
