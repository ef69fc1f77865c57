import numpy as np
import pytest

from coterie import AMCP, DAC
from coterie.comparison.methods import amortized


@pytest.mark.parametrize("model", [DAC("dac-mog2d"), AMCP("amcp-mog2d")], ids=repr)
def test_an_estimator_answers_as_it_fits(model, blobs):
    method = amortized("ours", model)
    assert method.name == "ours"
    assert str(model.weights) in method.details
    answer = method.cluster(blobs.points.astype(np.float32))
    np.testing.assert_array_equal(answer.labels, model.labels_)
    assert answer.network_log_likelihood is None  # consolidation has changed the clusters


def test_a_network_with_the_last_word_reports_its_likelihood(blobs):
    model = DAC("dac-mog2d", ending="network")
    answer = amortized("ours", model).cluster(blobs.points.astype(np.float32))
    assert answer.network_log_likelihood == model.clustering_.log_likelihood
