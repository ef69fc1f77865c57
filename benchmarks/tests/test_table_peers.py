import numpy as np
import pytest

import table_peers
from before_after import Given


@pytest.fixture
def given(blobs):
    labels = blobs.labels.copy()
    labels[:3] = -1  # noise is not scored
    return Given("blobs", ("validation",), blobs.points * [1, 1_000], labels)


@pytest.mark.parametrize("peer", ["HDBSCAN", "k-means + silhouette", "k-means, told k"])
def test_a_peer_finds_clusters_that_nobody_can_miss(peer, given):
    found = table_peers.answer(peer, given)
    assert (found["k"], found["ari"]) == (3, 1.0)


def test_mixtures_read_the_leading_axes():
    units = np.random.default_rng(0).normal(size=(50, 30))
    assert table_peers.leading(units).shape == (50, 10)
    assert table_peers.leading(units[:, :4]).shape == (50, 4)


def test_means_have_standard_errors():
    answers = {name: {"ari": ari, "k": 2, "seconds": 1.0} for name, ari in (("a", 0.2), ("b", 0.4))}
    found = table_peers.summary(answers)
    assert found["ari"] == {"mean": pytest.approx(0.3), "standard_error": pytest.approx(0.1)}
