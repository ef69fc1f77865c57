import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import coterie
from coterie.estimators.checks import (
    as_array,
    checked_weights,
    place_without_number,
    refuse_odd_arrays,
    refuse_text,
)

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])


@FRAMES
def test_text_columns_are_named(frame):
    table = frame({"height": [1.0, 2.0], "name": ["a", "b"], "town": ["c", "d"]})
    with pytest.raises(ValueError, match="not numbers: 'name', 'town'; there were none in fit"):
        refuse_text(table)


@FRAMES
def test_columns_of_numbers_pass(frame):
    refuse_text(frame({"whole": [1, 2], "real": [0.5, 1.5], "yes": [True, False]}))


def test_dates_are_no_numbers():
    with pytest.raises(ValueError, match="'when'"):
        refuse_text(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}))


def test_masked_arrays_are_refused():
    with pytest.raises(ValueError, match="masked array"):
        refuse_odd_arrays(np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]))


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_arrays_of_dates_are_refused(dtype):
    with pytest.raises(ValueError, match="array of dates"):
        refuse_odd_arrays(np.zeros((3, 2), dtype))


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[1.0]], None, pd.DataFrame({"a": [1]})])
def test_what_is_not_odd_passes(table):
    refuse_odd_arrays(table)


@pytest.mark.parametrize("table", [np.array([["a"]]), [["a"]], None, 3.0])
def test_what_has_no_columns_is_left_to_others(table):
    refuse_text(table)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16, torch.int8])
def test_tensors_are_arrays(kind):
    assert as_array(torch.ones(3, 2).to(kind)).tolist() == [[1, 1]] * 3


def test_a_tensor_that_needs_a_gradient_is_clustered(blobs):
    tensor = torch.tensor(blobs.points, requires_grad=True)
    labels = coterie.AMCP("amcp-mog2d").fit(tensor).labels_
    assert labels.tolist() == coterie.AMCP("amcp-mog2d").fit(blobs.points).labels_.tolist()


def test_sparse_tensors_are_refused():
    with pytest.raises(TypeError, match="X is a sparse tensor"):
        as_array(torch.eye(3).to_sparse())


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (np.array([[1, 2], [3, "a"]], dtype=object), ": row 1, column 1"),
        ([[1, 2], [{}, 4]], ": row 1, column 0"),
        ([[1, 10**400]], ": row 0, column 1"),
        (b"bytes", ": X is of type bytes"),
        ({1, 2}, ": X is of type set"),
        ([[1, 2], [3]], ""),
        ([1, "a"], ""),
    ],
)
def test_the_place_of_what_is_no_number(table, place):
    assert place_without_number(table) == place


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[1, 2], [3, "a"]], dtype=object), r"to float: 'a': row 1, column 1"),
        (np.array([[1, 2], [3, 1j]], dtype=object), r"complex'?: row 1, column 1"),
        ([[1.0, 2.0], [3.0, 10**400]], "too large for a floating-point number: row 1, column 1"),
        (np.full((3, 2), 1j), "Complex data not supported: X is an array of complex128"),
        (b"bytes", "X is of type bytes"),
        (np.ndarray, "X is of type type"),
    ],
)
def test_a_refusal_names_what_and_where(table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        coterie.AMCP("amcp-mog2d").fit(table)


@pytest.mark.parametrize("weights", [["a"] * 3, [None] * 3, np.ones(3, complex), [-1.0, 1, 1]])
def test_a_refusal_of_weights_names_them(weights):
    with pytest.raises((ValueError, TypeError), match=r"sample_weight|Negative values"):
        checked_weights(weights, np.ones((3, 2)))


@FRAMES
def test_numbers_too_large_are_refused_without_a_warning_of_an_overflow(frame, recwarn):
    with pytest.raises(ValueError, match=r"contains 1e\+300: row 0, column 'a'"):
        coterie.AMCP("amcp-mog2d").fit(
            frame({"a": [1e300, 2.0, 4.5, 3.0], "b": [1.5, 2.5, 7.0, 1.0], "c": [*"xyxy"]})
        )
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]
