"""Refusals that say what is wrong and where."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from coterie.frames.table_columns import read_columns
from coterie.systems.traits import Traits


def refuse_no_pixels(table: NDArray, traits: Traits) -> None:
    """Refuse a table (n, d) whose rows are no images for weights that read the pixels of some."""
    if not traits.reads_pixels:
        return
    if table.shape[1] != traits.columns:
        raise ValueError(
            f"these weights read images of {traits.columns} pixels, one image a row; X has"
            f" {table.shape[1]} columns"
        )
    low, high = table.min(), table.max()
    if low < 0 or high > 1:
        raise ValueError(
            f"pixels lie between 0 (paper) and 1 (ink); X has values from {low:g} to {high:g}"
        )


def refuse_text(table: Any) -> None:
    """Raise for a data frame with columns that are not numbers, naming them."""
    text = [each.name for each in read_columns(table) if each.kind in ("categories", "dates")]
    if text:
        raise ValueError(
            f"columns that are not numbers: {', '.join(map(repr, text))}; there were none in fit"
        )


def refuse_odd_arrays(table: Any) -> None:
    """Raise for arrays whose numbers are not what they seem: hidden values, dates."""
    if np.ma.isMaskedArray(table):
        raise ValueError(
            "X is a masked array, whose masked values would count as numbers: fill them, or give a"
            " data frame with missing values"
        )
    if isinstance(table, np.ndarray) and table.dtype.kind in "mM":
        raise ValueError(
            f"X is an array of dates or times ({table.dtype}): convert it to numbers first, in a"
            " suitable unit"
        )
    if isinstance(table, np.ndarray) and table.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is an array of {table.dtype}")


def as_array(table: Any) -> Any:
    """A tensor as an array, wherever it is and whatever it belongs to; all else as it is."""
    if not isinstance(table, torch.Tensor):
        return table
    if table.layout != torch.strided:
        raise TypeError("Sparse data not supported: X is a sparse tensor; use X.to_dense()")
    plain = table.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def place_without_number(table: Any) -> str:
    """Where the first cell that is no number stands, as in ": row 3, column 0"; empty if unknown.

    The table (n, d) has already been refused as a whole, so it does not matter that this is slow.
    """
    try:
        cells = np.asarray(table, dtype=object)
    except ValueError:  # rows of different lengths
        return ""
    if cells.ndim == 0 and not isinstance(table, np.ndarray):
        return f": X is of type {type(table).__name__}"
    if cells.ndim != 2:
        return ""
    for (row, column), cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError, OverflowError):
            return f": row {row}, column {column}"
    return ""


def checked_weights(sample_weight: ArrayLike, table: NDArray) -> NDArray[np.float64]:
    """The weights (n,) of the rows of a table: finite, none negative."""
    if np.asarray(sample_weight).dtype.kind == "c":
        raise ValueError("Complex data not supported: sample_weight is complex")
    try:
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, table, dtype=np.float64, ensure_non_negative=True
        )
    except (ValueError, TypeError) as error:
        if "sample_weight" in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"sample_weight: {error}") from None
    return weights
