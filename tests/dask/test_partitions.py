"""Partitions that cannot be used are named."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from coterie.dask import AMCP, PartitionError

WEIGHTS = "amcp-universal-small"


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def frames(*parts):
    """A collection whose third partition is what a function makes of it."""
    meta = pd.DataFrame({"x": [0.0], "y": [0.0]}).iloc[:0]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)


def good(n_rows=50, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame({"x": draw.normal(size=n_rows), "y": draw.normal(size=n_rows)})


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (good().rename(columns={"y": "z"}), "without 'y' and with 'z'"),
        (good().assign(y="text"), "column 'y' has the type"),
        (good().assign(y=np.inf), "contains infinity.*column 'y'"),
        (good().assign(y=1e30), "contains 1e"),
    ],
)
def test_the_error_names_the_partition(bad, complaint):
    with pytest.raises(PartitionError, match=f"partition 2: .*{complaint}"):
        AMCP(WEIGHTS).fit(frames(good(), good(seed=1), bad, good(seed=2)))


def test_gaps_in_one_partition_of_an_array_are_refused():
    table = np.random.default_rng(0).normal(size=(100, 2))
    table[77, 1] = np.nan
    with pytest.raises(PartitionError, match=r"partition 3: .*NaN: row 2, column 1"):
        AMCP(WEIGHTS).fit(da.from_array(table, chunks=(25, 2)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_empty_partitions_hold_nothing():
    whole = AMCP(WEIGHTS).fit(frames(good(), good(seed=1)))
    holes = AMCP(WEIGHTS).fit(frames(good(0), good(), good(0), good(seed=1)))
    assert (whole.labels_.compute().to_numpy() == holes.labels_.compute().to_numpy()).all()
    rows = da.concatenate([da.from_array(np.empty((0, 2)), chunks=(1, 2)), da.zeros((3, 2))])
    assert holes.predict(rows.compute()).shape == (3,)
    assert holes.predict_proba(good().to_numpy()).shape == (50, holes.n_clusters_)


def test_no_rows_at_all():
    with pytest.raises(ValueError, match="no rows to cluster"):
        AMCP(WEIGHTS).fit(frames(good(0), good(0)))


def test_a_partition_that_cannot_be_read_is_named():
    def broken():
        raise OSError("the disk is on fire")

    parts = [dask.delayed(good)(), dask.delayed(broken)()]
    collection = dd.from_delayed(parts, meta=good().iloc[:0])
    with pytest.raises(PartitionError, match="partition 1: OSError: the disk is on fire"):
        AMCP(WEIGHTS).fit(collection)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_prediction_names_the_partition_too():
    model = AMCP(WEIGHTS).fit(frames(good(), good(seed=1)))
    bad = frames(good(), good().assign(y=np.inf))
    with pytest.raises(PartitionError, match=r"partition 1: .*infinity"):
        model.predict(bad).compute()
