"""Without a seed the sample of a large table depends on its rows, not on their order."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import coterie


@pytest.fixture(scope="module")
def table():
    centres = [(0, 0), (4, 0), (0, 4), (3, 3)]
    return make_blobs(3000, centers=centres, cluster_std=0.9, random_state=0)[0]


@pytest.mark.parametrize("weights", ["amcp-universal-small", "amcp-mog2d"])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_rows_in_any_order_get_the_same_labels(table, weights):
    model = coterie.AMCP(weights, context_size=400)
    order = np.random.default_rng(1).permutation(len(table))
    once, again, permuted = (
        model.fit(rows).labels_.copy() for rows in (table, table, table[order])
    )
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[order], permuted)


@pytest.mark.filterwarnings("ignore:samples of the rows have different:UserWarning")
def test_a_seed_draws_another_sample(table):
    claimed = [
        set(np.concatenate([step.offered for step in model.trace_]))
        for seed in (None, 0, 1)
        for model in [coterie.AMCP("amcp-universal-small", context_size=400, random_state=seed)]
        if model.fit(table)
    ]
    assert len(claimed[0]) == 400
    assert claimed[0] != claimed[1]
    assert claimed[1] != claimed[2]
