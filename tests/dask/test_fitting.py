"""Clusters of drawn rows, found by a worker, are those that an estimator finds."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import coterie
from coterie.cli.on_engine import unless_failed
from coterie.dask.fitting import Asked, Labelling, find_clusters, open_weights, submit_fit
from coterie.dask.parquet import Columns
from coterie.data.tables.table import Table
from coterie.frames.table_columns import FrameColumn
from coterie.frames.table_encoding import fit_columns
from coterie.weights.format import WeightsError

pytestmark = pytest.mark.xdist_group("dask cluster")

ASKED = Asked("amcp-universal-small", {"n_clusters": (2, 8), "random_state": 1})
COLUMNS = Columns(("a", "b", "c"), "float32")


@pytest.fixture
def table(values):
    encoding = fit_columns(
        [FrameColumn(name, "numbers", values[:, at]) for at, name in enumerate("abc")]
    )
    return Table(tuple("abc"), values, 10 * len(values), np.arange(len(values)), encoding)


@pytest.fixture
def labelling(table):
    return Labelling(COLUMNS, table.encoding.medians, "tag", None, confident=True)


@pytest.fixture
def expected(table):
    model = coterie.AMCP("amcp-universal-small", n_clusters=(2, 8), random_state=1)
    return model.fit_drawn(table.encoded, table.n_rows)


@pytest.mark.parametrize("n_threads", [None, 2])
def test_clusters_are_those_of_the_estimator(table, labelling, expected, n_threads):
    found = find_clusters(ASKED._replace(n_threads=n_threads), table, labelling)
    labeller = pickle.loads(found.labeller)
    assert (labeller.fitted.predict(table.values) == expected.labels_).all()
    assert labeller.columns == COLUMNS
    assert labeller.tag == "tag"
    assert found.clustering.n_clusters == expected.n_clusters_
    assert found.clustering.context_size == expected.clustering_.context_size
    assert found.stability == expected.stability_
    assert len(found.clustering.labels) == 0  # of 100,000 rows nobody needs them


def test_a_worker_finds_the_same(client, table, labelling, expected):
    opened = client.submit(open_weights, ASKED, 3, pure=False)
    assert opened.result() == 100_000
    found = submit_fit(client, opened, ASKED, table, labelling).result()
    assert (pickle.loads(found.labeller).fitted.predict(table.values) == expected.labels_).all()


def test_warnings_of_the_fit_are_notes(table, labelling):
    asked = ASKED._replace(settings={"n_clusters": 2_000})
    with pytest.raises(ValueError, match="n_clusters"):
        find_clusters(asked, table, labelling)
    far = Table(table.names, table.values**9, 6_000, table.rows, table.encoding)
    notes = find_clusters(ASKED, far, labelling).notes
    assert all(isinstance(note, str) for note in notes)
    assert notes


def test_weights_that_are_not_there_end_the_reading(client):
    opened = client.submit(open_weights, Asked("nowhere", {}), 3, pure=False)
    with pytest.raises(WeightsError, match="no model 'nowhere'"):
        opened.result()
    done = []
    with pytest.raises(WeightsError, match="no model 'nowhere'"):
        unless_failed(opened, done.append)(5)
    unless_failed(SimpleNamespace(status="pending"), done.append)(7)
    assert done == [7]
