"""More rows than MAX_ROWS: everything is found on a sample, and all rows are labelled."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

import coterie
from coterie.estimators import amortized
from coterie.estimators.drawing import draw, locate, merge, survey
from coterie.frames.encoded_table import EncodedTable
from coterie.frames.table_encoding import fit_encoding
from coterie.inference import hashed_draw

SETTINGS = {"weights": "amcp-universal-small", "context_size": 300}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    monkeypatch.setattr(amortized, "MAX_ROWS", 1000)
    monkeypatch.setattr(hashed_draw, "CAPACITY", 1000)


@pytest.fixture(scope="module")
def table():
    centres = [(0, 0), (8, 0), (0, 8)]
    return make_blobs([2500, 1000, 500], centers=centres, random_state=0)[0]


@pytest.mark.parametrize("seed", [None, 3])
def test_the_order_of_rows_does_not_matter(table, seed):
    model = coterie.AMCP(**SETTINGS, random_state=seed)
    order = np.random.default_rng(0).permutation(len(table))
    labels = model.fit(table).labels_.copy()
    steps = model.trace_
    np.testing.assert_array_equal(model.fit(table[order]).labels_, labels[order])
    assert np.bincount(labels).tolist() == [2500, 1000, 500]
    assert max(step.offered.max() for step in steps) > 2000  # numbers of the whole table
    assert all((table[step.claimed].std(0) < 2).all() for step in steps)


def test_labels_are_those_of_the_rule(table):
    model = coterie.AMCP(**SETTINGS).fit(table)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_allclose(model.predict_proba(table), model.probabilities_, atol=1e-12)


def test_the_smallest_size_counts_rows_of_the_table(table):
    assert coterie.AMCP(**SETTINGS, min_cluster_size=400).fit(table).n_clusters_ == 3
    assert coterie.AMCP(**SETTINGS, min_cluster_size=700).fit(table).n_clusters_ == 2


def test_equal_weights_change_nothing(table):
    plain = coterie.AMCP(**SETTINGS).fit(table).labels_
    weighted = coterie.AMCP(**SETTINGS).fit(table, sample_weight=np.full(len(table), 2.0)).labels_
    np.testing.assert_array_equal(plain, weighted)


@pytest.mark.filterwarnings("ignore:samples of the rows:UserWarning")  # half of a column is told
def test_gaps_of_all_rows_are_told(table):
    frame = pd.DataFrame(table, columns=["a", "b"])
    frame.loc[::2, "b"] = np.nan
    with pytest.warns(UserWarning, match=r"'b' \(2,000 values\)") as caught:
        model = coterie.AMCP(**SETTINGS).fit(frame)
    assert len([each for each in caught if "median" in str(each.message)]) == 1
    assert len(model.labels_) == 4000


def test_tables_that_were_encoded_keep_their_encoding(table):
    frame = pd.DataFrame(table, columns=["a", "b"])
    frame["side"] = np.where(table[:, 0] > 4, "right", "left")
    encoding = fit_encoding(frame)
    model = coterie.AMCP(**SETTINGS).fit(EncodedTable(encoding(frame).table, encoding))
    assert model.n_features_in_ == 3
    assert len(model.labels_) == len(table)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_judge_of_a_large_table_tells_what_it_expects(table, tmp_path):
    wide = np.concatenate([table, -table, table[:, ::-1] / 2], axis=1)
    model = coterie.AMCP(**SETTINGS).fit(wide)
    assert model.clustering_.expected_agreement == model.expected_agreement_
    assert model.clustering_.k_probabilities.argmax() == model.n_clusters_
    assert len(model.clustering_.labels) == len(table)
    again = coterie.load(model.save(tmp_path / "m.coterie"))
    np.testing.assert_array_equal(again.predict(wide), model.labels_)
    np.testing.assert_array_equal(again.predictor().predict(wide), model.labels_)


def test_rows_drawn_elsewhere_give_the_same_clusters(table):
    crowded = np.concatenate([table, np.repeat([[4.0, 4.0]], 300, axis=0)])
    expected = coterie.AMCP(**SETTINGS).fit(crowded).labels_
    parts = np.array_split(crowded[::-1], 7)
    surveys = [survey(part, 1000) for part in parts]
    drawn = draw(merge(surveys), lambda hashes: [locate(part, hashes) for part in parts])
    assert drawn.n_rows == 4300
    model = coterie.AMCP(**SETTINGS).fit_drawn(drawn.rows, drawn.n_rows)
    np.testing.assert_array_equal(model.predict(crowded), expected)
    np.testing.assert_array_equal(model.predictor().predict(crowded), expected)


def test_many_equal_rows_must_be_counted(table, monkeypatch):
    monkeypatch.setattr("coterie.inference.hashed_draw.RARITY", 64)
    total = survey(np.concatenate([table, np.repeat([[4.0, 4.0]], 300, axis=0)]), 1000)
    with pytest.raises(ValueError, match="many rows of the table are equal"):
        draw(total)
