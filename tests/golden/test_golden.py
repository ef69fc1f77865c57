"""The shipped models answer what they answered when the answers were stored."""

import golden
import numpy as np
import pytest

import coterie


@pytest.mark.parametrize("name", golden.names())
def test_answers_are_unchanged(name):
    stored, now = golden.stored(name), golden.answer(name)
    if name.split("/")[1] in golden.UNORDERED:
        stored, now = golden.ordered(stored), golden.ordered(now)
    np.testing.assert_array_equal(now.labels, stored.labels)
    np.testing.assert_allclose(now.probabilities, stored.probabilities, atol=2e-5)
    # Another CPU rounds the sums of a network in float32 otherwise, by some parts in a million.
    np.testing.assert_allclose(now.log_likelihood, stored.log_likelihood, rtol=1e-5)
    np.testing.assert_array_equal(now.claimed, stored.claimed)


def test_every_shipped_model_has_answers():
    shipped = {model.name for model in coterie.models()}
    assert shipped == {*golden.ENDINGS, "mice-mnist"}  # which test_mice.py asks
