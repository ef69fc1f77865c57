"""The agreement of all partitions at once, against scikit-learn's of two."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from coterie.judge.agreement import agreements, agreements_between, members_of


def test_it_is_the_adjusted_rand_index():
    rng = np.random.default_rng(0)
    labels = np.stack(
        [np.unique(rng.integers(0, k, 60), return_inverse=True)[1] for k in (1, 2, 3, 7, 60)]
    )
    found = agreements(*members_of(labels))
    expected = [[adjusted_rand_score(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_one_cluster_agrees_with_itself():
    labels = np.zeros((2, 10), dtype=np.int16)
    np.testing.assert_array_equal(agreements(*members_of(labels)), 1.0)


def test_partitions_are_compared_with_others():
    rng = np.random.default_rng(1)
    labels = np.stack(
        [np.unique(rng.integers(0, k, 60), return_inverse=True)[1] for k in (1, 2, 7, 60, 3)]
    )
    every = agreements(*members_of(labels))
    np.testing.assert_allclose(agreements_between(labels[:2], labels), every[:2])
    np.testing.assert_allclose(agreements_between(labels, labels[3:]), every[:, 3:])
