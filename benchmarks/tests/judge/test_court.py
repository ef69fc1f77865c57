"""From standardised columns to a chosen partition, by a shipped network and the stored judge."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.frames.standard import fit_standard
from coterie.weights.catalogue import open_model
from judge.court import Court, hold
from judge.readings import read_sets
from judge.store import open_judge


@pytest.fixture(scope="module")
def network():
    return open_model("amcp-universal-small")[0]


@pytest.fixture
def units(blobs):
    return fit_standard(blobs.points, 16).in_units(blobs.points)


def test_clusters_far_apart_are_found(network, blobs, units):
    judged = hold(Court(network, None, open_judge()), units)
    assert adjusted_rand_score(judged.labels, blobs.labels) == 1
    assert judged.rounds == 1
    assert 0 < judged.verdict.expected_agreement < 1
    assert judged.verdict.k_probabilities.argmax() == 3


def test_a_judge_in_doubt_asks_for_more_views(network, units):
    judged = hold(Court(network, network, open_judge()), units, sure=1.0)
    assert judged.rounds == 2


def test_only_allowed_numbers_are_chosen(network, units):
    court = Court(network, None, open_judge())
    judged = hold(court, units, at_least=4, at_most=6)
    assert {each.k for each in judged.candidates} <= {4, 5, 6}
    assert hold(court, units, at_least=200) is None


def test_companions_in_the_batch_do_not_matter(network, blobs):
    whole = fit_standard(blobs.points, 16)(blobs.points)
    sets = [whole, whole[::3].copy()]
    together = read_sets(network, sets)
    for one, points in zip(together, sets, strict=True):
        (alone,) = read_sets(network, [points])
        np.testing.assert_array_equal(one.labels, alone.labels)
        assert one.sure == pytest.approx(alone.sure, abs=1e-4)
