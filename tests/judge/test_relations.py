"""Relations: the order of candidates does not matter, and one agrees with itself."""

import numpy as np

from coterie.judge.features import Evidence, feature_names
from coterie.judge.relations import with_relations


def evidence(order):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(5, len(feature_names()))).astype(np.float32)
    agreement = np.full((5, 5), 0.3, dtype=np.float32)
    np.fill_diagonal(agreement, 1.0)
    return Evidence(features[order], agreement[np.ix_(order, order)], np.arange(1, 6)[order])


def test_permuted_candidates_have_permuted_relations():
    plain = with_relations(evidence(np.arange(5)))
    order = np.array([4, 2, 0, 1, 3])
    np.testing.assert_allclose(with_relations(evidence(order)), plain[order], atol=1e-6)
    assert plain.shape[1] > len(feature_names())
