"""A short campaign; `python benchmarks/reliability inputs --attempts 10000` is the long one."""

import os

import numpy as np
import pytest

from coterie.estimators.bad_values import refuse_non_finite
from reliability._supervised import endings
from reliability.inputs import campaign, judged


def test_odd_inputs_end_in_labels_or_a_documented_exception():
    row = campaign(100, seed=1)
    assert row["failures"] == []
    assert row["labels"] + row["refused"] == 100
    assert row["labels"] >= 20
    assert len(row["kinds"]) >= 18


def test_an_accident_is_told_from_a_refusal():
    def outcome(do):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            do()
        return judged(raised.value)

    assert outcome(lambda: refuse_non_finite(np.full((1, 1), np.nan))) == "refused"
    assert outcome(lambda: np.linalg.cholesky(-np.eye(2))).startswith("raised in")
    assert outcome(lambda: {}["a"]).startswith("KeyError")


def dying(seed, number):
    if number == 2:
        os._exit(7)
    return "kind", f"outcome {seed + number}"


def test_an_attempt_that_ends_its_process_is_counted_and_the_rest_follow():
    found = [ending.outcome for ending in endings(dying, 5, seed=10)]
    expected = ["outcome 10", "outcome 11", "the process ended with code 7", "outcome 13"]
    assert found == [*expected, "outcome 14"]
