"""A cluster of three worker processes: the same labels, also where a worker is killed."""

import os
import pickle
import signal

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import coterie
from coterie.dask import AMCP

pytestmark = [
    pytest.mark.xdist_group("dask cluster"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

WEIGHTS = "amcp-universal-small"
NAMES = ["a", "b", "c"]


def load(part, number, marker):
    """A partition; the worker that reads the third one dies where there is a marker."""
    if number == 2 and marker.exists():
        marker.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.fixture
def collection(values, tmp_path):
    frame = pd.DataFrame(values, columns=NAMES)
    parts = [frame.iloc[at : at + 1000] for at in range(0, 6000, 1000)]
    delayed = [
        dask.delayed(load, pure=False)(part, number, tmp_path / "marker")
        for number, part in enumerate(parts)
    ]
    return dd.from_delayed(delayed, meta=frame.iloc[:0])


def test_a_killed_worker_changes_nothing(client, collection, values, tmp_path):
    expected = coterie.AMCP(WEIGHTS, context_size=300).fit(pd.DataFrame(values, columns=NAMES))
    model = AMCP(WEIGHTS, context_size=300).fit(collection)
    (tmp_path / "marker").touch()
    labels = model.predict(collection).compute()
    assert not (tmp_path / "marker").exists()  # a worker has died
    assert (labels.to_numpy() == expected.labels_).all()


def test_what_is_sent_is_small(values):
    model = coterie.AMCP(WEIGHTS, context_size=300, noise=True).fit(np.tile(values, (5, 1)))
    light = model.predictor()
    assert len(pickle.dumps(light)) < len(pickle.dumps(model)) / 10
    again = pickle.loads(pickle.dumps(light))
    assert (again.predict(values) == model.predict(values)).all()
    assert (again.predict(50 * values) == -1).any()
    np.testing.assert_array_equal(again.transform(values), model.transform(values))
    assert not hasattr(again, "labels_")
