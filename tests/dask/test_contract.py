"""The labels are the same for every partitioning, order of partitions and number of workers."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import coterie
from coterie.dask import ACTST, AMCP, DAC
from coterie.estimators import amortized
from coterie.inference import hashed_draw

WEIGHTS = "amcp-universal-small"
SETTINGS = [{}, {"random_state": 4}, {"noise": True}, {"min_cluster_size": 700}, {"n_clusters": 3}]
NAMES = ["length", "width", "height"]


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """Samples of 1,000 rows and few counted values, so that a small table is a large one."""
    monkeypatch.setattr(amortized, "MAX_ROWS", 1000)
    monkeypatch.setattr(hashed_draw, "CAPACITY", 1000)
    monkeypatch.setattr(hashed_draw, "RARITY", 64)
    monkeypatch.setattr("coterie.estimators.drawing.RARITY", 64)
    with dask.config.set(scheduler="synchronous"):
        yield


def divided(table, sizes, order=None):
    """A dask array of the parts of a table, in an order of their own."""
    parts = np.split(table, np.cumsum(sizes))
    order = range(len(parts)) if order is None else order
    blocks = [da.from_array(parts[number], chunks=(len(parts[number]) or 1, 3)) for number in order]
    return da.concatenate(blocks), np.concatenate([parts[number] for number in order])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arrays_in_any_partitions_get_the_labels_of_the_estimator_in_memory(values, settings):
    model = coterie.AMCP(WEIGHTS, context_size=300, **settings).fit(values)
    by_row = dict(zip(map(bytes, values), model.labels_, strict=True))
    for sizes, order in [([2000, 2000], [2, 0, 1]), ([5, 1, 4000], [3, 2, 1, 0]), ([], None)]:
        collection, rows = divided(values, sizes, order)
        labels = AMCP(WEIGHTS, context_size=300, **settings).fit_predict(collection).compute()
        assert labels.tolist() == [by_row[bytes(row)] for row in rows]
    assert 1 < model.n_clusters_ < 10


@pytest.mark.parametrize("n_rows", [200, 900])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_small_tables_are_fitted_whole(values, n_rows):
    table = values[:n_rows]
    model = coterie.AMCP(WEIGHTS, context_size=300).fit(table)
    fitted = AMCP(WEIGHTS, context_size=300).fit(da.from_array(table[::-1], chunks=(70, 2)))
    assert (fitted.labels_.compute()[::-1] == model.labels_).all()
    assert fitted.n_clusters_ == model.n_clusters_


@pytest.fixture
def frame(values):
    """A frame with gaps, categories, booleans and dates."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(values[:3000], columns=NAMES)
    frame["colour"] = np.where(frame["length"] > 3, "red", "blue")
    frame["large"] = frame["width"] > 3
    frame["when"] = pd.Timestamp("2024-01-01")
    frame.loc[draw.integers(0, 3000, 50), "width"] = np.nan
    return frame.set_index(np.arange(3000) * 10)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frames_with_gaps_and_categories_get_the_labels_of_the_estimator_in_memory(frame):
    model = coterie.AMCP(WEIGHTS, context_size=300).fit(frame)
    for n_partitions in (1, 4, 13):
        collection = dd.from_pandas(frame, npartitions=n_partitions)
        labels = AMCP(WEIGHTS, context_size=300).fit_predict(collection).compute()
        assert labels.index.equals(frame.index)
        assert (labels.to_numpy() == model.labels_).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_are_lazy_and_know_what_they_will_be(frame):
    collection = dd.from_pandas(frame, npartitions=3)
    model = AMCP(WEIGHTS, context_size=300).fit(collection)
    labels, memberships = model.predict(collection), model.transform(collection)
    assert labels.dtype == np.int64
    assert labels.name == "cluster"
    assert labels.divisions == collection.divisions
    names = [*model.get_feature_names_out()]
    assert [*memberships.columns] == names
    computed = memberships.compute()
    assert computed.dtypes.equals(memberships.dtypes)
    np.testing.assert_allclose(computed.sum(axis=1), 1)
    assert (computed.to_numpy().argmax(1) == labels.compute()).all()
    assert type(model.predict(frame)) is np.ndarray  # in memory as ever


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arrays_with_unknown_chunks(values):
    known = da.from_array(values, chunks=(2500, 3))
    unknown = known[known[:, 0] > -100]
    assert np.isnan(unknown.chunks[0]).all()
    model = AMCP(WEIGHTS, context_size=300).fit(unknown)
    expected = coterie.AMCP(WEIGHTS, context_size=300).fit(values)
    assert (model.labels_.compute() == expected.labels_).all()
    memberships = model.predict_proba(unknown)
    assert memberships.chunks[1] == (model.n_clusters_,)
    np.testing.assert_allclose(memberships.compute(), expected.probabilities_, atol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_networks_with_a_density_too(values):
    table = values[:, :2] / 2
    collection = da.from_array(table, chunks=(999, 2))
    for here, there, weights in [
        (coterie.ACTST, ACTST, "act_st-mog2d"),
        (coterie.DAC, DAC, "dac-mog2d"),
        (coterie.AMCP, AMCP, "amcp-mog2d"),
    ]:
        expected = here(weights, context_size=500).fit(table).labels_
        assert (
            there(weights, context_size=500).fit(collection).labels_.compute() == expected
        ).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frequent_rows_keep_their_share_of_the_sample(values):
    model = AMCP(WEIGHTS, context_size=300).fit(da.from_array(values, chunks=(500, 3)))
    share = (model.clustering_.labels == model.predict(np.full((1, 3), 3.0))[0]).mean()
    assert share >= 1 / 11 - 0.03


@pytest.mark.filterwarnings("ignore:missing values filled:UserWarning")
def test_missing_values_are_counted_in_all_partitions(frame):
    numbers = frame[NAMES]
    n_missing = int(numbers["width"].isna().sum())
    with pytest.warns(UserWarning, match=f"missing values: 'width' \\({n_missing} values\\)"):
        AMCP(WEIGHTS, context_size=300).fit(dd.from_pandas(numbers, npartitions=3))


def test_weights_are_refused(values):
    collection = da.from_array(values, chunks=(2000, 3))
    with pytest.raises(ValueError, match="sample_weight is not supported"):
        AMCP(WEIGHTS).fit(collection, sample_weight=np.ones(6000))


def test_what_is_no_table_is_refused(values):
    with pytest.raises(ValueError, match="two dimensions"):
        AMCP(WEIGHTS).fit(da.from_array(values[:, 0], chunks=1000))
    with pytest.raises(ValueError, match="X is a Series of dask"):
        AMCP(WEIGHTS).fit(dd.from_pandas(pd.Series(values[:, 0]), npartitions=2))
    for kind in (complex, object):
        with pytest.raises(ValueError, match="which is not numeric"):
            AMCP(WEIGHTS).fit(da.from_array(values[:9].astype(kind), chunks=(5, 3)))


def test_other_questions_are_for_rows_in_memory(values):
    collection = da.from_array(values[:60], chunks=(20, 3))
    model = AMCP("amcp-mog2d").fit(collection[:, :2])
    for ask in (model.unlike, model.score_samples, model.sample_partitions, model.co_assignment):
        with pytest.raises(ValueError, match="give rows in memory"):
            ask(collection[:, :2])
        assert len(ask(values[:9, :2])) in (9, 10)
    for ask in (model.sample_partitions, model.co_assignment):
        with pytest.raises(ValueError, match="the labels of a collection are lazy"):
            ask()
