import numpy as np
import pytest

from coterie.bench.methods import ours
from coterie.bench.mog import mog_setting
from coterie.bench.sets import draw_sets
from coterie.estimators.dac import DAC


@pytest.fixture(scope="module")
def points():
    return draw_sets(mog_setting(120, 3, k_limit=4), 1, seed=0)[0].points


def test_our_systems_answer_as_their_estimators_do(points):
    answers = {method.name: method.cluster(points) for method in ours()}
    np.testing.assert_array_equal(answers["DAC"].labels, DAC().fit(points).labels_)
    raw = DAC(consolidate=False).fit(points)
    np.testing.assert_array_equal(answers["DAC, as the network says"].labels, raw.labels_)


def test_only_the_network_itself_claims_a_likelihood(points):
    consolidated, raw = (method.cluster(points) for method in ours())
    assert consolidated.network_log_likelihood is None
    expected = DAC(consolidate=False).fit(points).clustering_.log_likelihood
    assert raw.network_log_likelihood == expected


def test_details_name_the_weights():
    assert all("dac-mog2d" in method.details for method in ours())
