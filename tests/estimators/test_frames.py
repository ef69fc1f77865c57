"""Data frames as people have them, through an estimator from end to end."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from coterie.estimators.amcp import AMCP
from coterie.estimators.dac import DAC
from coterie.metrics import ari
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
QUIET = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def standard(tmp_path_factory):
    """An untrained network that reads six columns in the standard frame."""
    settings = {"columns": 6, "width": 16, "read_width": 16, "heads": 2, "references": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("amcp", {**settings, "encoder_blocks": 1})
    path = tmp_path_factory.mktemp("weights") / "standard.safetensors"
    save_system(path, network, make_card(network, frame="standard"))
    return path


@pytest.fixture
def people():
    random = np.random.default_rng(0)
    return {
        "age": random.normal(40, 10, 60).tolist(),
        "town": random.choice(["Bonn", "Ulm", "Jena"], 60).tolist(),
        "member": (random.uniform(size=60) < 0.3).tolist(),
        "name": [f"person {i}" for i in range(60)],
    }


@FRAMES
def test_missing_values_are_filled_with_a_warning(blobs, frame):
    x, y = blobs.points.T.tolist()
    x[7] = None
    with pytest.warns(UserWarning, match=r"filled with the median: 'x' \(1 value\)") as caught:
        model = DAC().fit(frame({"x": x, "y": y}))
    assert caught[0].filename == __file__
    assert model.clustering_.warnings == (str(caught[0].message),)
    assert ari(blobs.labels, model.labels_) > 0.98
    filled = blobs.points.copy()
    filled[7, 0] = np.median(np.delete(filled[:, 0], 7))
    np.testing.assert_array_equal(model.labels_, DAC().fit(filled).labels_)


@FRAMES
def test_fit_says_what_it_made_of_the_columns(standard, people, frame):
    with pytest.warns(UserWarning, match=r"^columns (encoded|dropped)") as caught:
        model = AMCP(standard).fit(frame(people))
    said = [str(each.message) for each in caught]
    assert "columns encoded as categories: 'town' (3 of them)" in said
    assert "columns dropped: 'name' (60 different values in 60 rows)" in said
    assert model.feature_names_in_.tolist() == list(people)
    assert model.n_features_in_ == 4
    assert len(model.labels_) == 60


@QUIET
@FRAMES
def test_predict_repeats_fit(standard, people, frame):
    model = AMCP(standard)
    labels = model.fit_predict(frame(people))
    np.testing.assert_array_equal(model.predict(frame(people)), labels)
    again = pickle.loads(pickle.dumps(model))
    some = {name: values[:7] for name, values in people.items()}
    np.testing.assert_array_equal(again.predict(frame(some)), labels[:7])


@QUIET
def test_all_kinds_of_frames_give_the_same_clusters(standard, people):
    first, *others = (
        AMCP(standard).fit_predict(frame(people))
        for frame in (pd.DataFrame, pl.DataFrame, pa.table)
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


@QUIET
@FRAMES
def test_new_categories_are_told(standard, people, frame):
    model = AMCP(standard).fit(frame(people))
    people["town"][3] = "Paris"
    with pytest.warns(UserWarning, match=r"encoded as no category: 'town' \(1 value") as caught:
        model.predict(frame(people))
    assert caught[0].filename == __file__


@QUIET
@FRAMES
def test_columns_in_another_order_are_refused(standard, people, frame):
    model = AMCP(standard).fit(frame(people))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame(dict(reversed(people.items()))))


@QUIET
def test_an_array_cannot_stand_for_a_frame_with_categories(standard, people):
    model = AMCP(standard).fit(pd.DataFrame(people))
    with pytest.raises(
        ValueError, match="columns that are not numbers: pass a data frame here too"
    ):
        model.predict(np.zeros((3, 4)))


def test_an_array_can_stand_for_a_frame_of_numbers(blobs):
    model = DAC().fit(pd.DataFrame(blobs.points, columns=["x", "y"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(blobs.points), model.labels_)


@QUIET
def test_the_encoding_of_an_earlier_fit_is_forgotten(standard, people, blobs):
    model = AMCP(standard).fit(pd.DataFrame(people)).fit(blobs.points)
    np.testing.assert_array_equal(model.predict(blobs.points), model.labels_)


def test_a_frame_of_numbers_needs_no_warning(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DAC().fit(pd.DataFrame(blobs.points))


@FRAMES
def test_an_empty_frame_is_refused(frame):
    with pytest.raises(ValueError, match="0 sample"):
        DAC().fit(frame({"x": [], "y": []}))


def test_a_missing_value_of_an_array_stays_an_error(blobs):
    wrong = blobs.points.copy()
    wrong[7, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN: row 7, column 1"):
        DAC().fit(wrong)
    with pytest.raises(ValueError, match="contains NaN"):
        DAC().fit(wrong.tolist())


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_one_name_are_told_apart(library):
    values = np.random.default_rng(0).normal(size=(20, 2))
    if library == "pandas":
        frame = pd.DataFrame(values, columns=["a", "a"])
    else:
        frame = pa.table(list(values.T), names=["a", "a"])
    model = AMCP().fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "a_2"]
    np.testing.assert_array_equal(model.predict(frame), AMCP().fit(values).labels_)


@pytest.mark.parametrize("frame", [pd.DataFrame(index=range(5)), pl.DataFrame(), pa.table({})])
def test_a_frame_without_columns_is_refused(frame):
    with pytest.raises(ValueError, match="X has no columns"):
        AMCP().fit(frame)


def test_integers_beyond_any_float_are_refused():
    rows = [[10**400, 1], [2, 3]]
    for X in (rows, np.array(rows, dtype=object)):
        with pytest.raises(ValueError, match="X has an integer that is too large"):
            AMCP().fit(X)
    with pytest.raises(ValueError, match="column 'a' has an integer that is too large"):
        AMCP().fit(pd.DataFrame(rows, columns=["a", "b"]))
