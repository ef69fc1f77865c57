"""Refusals that say what is wrong and where."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
            f"columns that are not numbers: {', '.join(map(repr, text))}; fit has seen none such"
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
            f"X is an array of dates or times ({table.dtype}): turn it into numbers first, in the"
            " unit that matters"
        )


# Squares of values up to this, summed over the rows of any table, stay finite in float32.
LARGEST = 1e15


def refuse_bad_values(table: NDArray, names: Any = None) -> None:
    """Raise for what is not finite or too large, naming the first place.

    Two extremes decide; only a table that is refused is worth a mask of its size.
    """
    if table.min() >= -LARGEST and table.max() <= LARGEST:  # neither holds for NaN
        return
    refuse_non_finite(table, names)
    refuse_huge(table, names)


def refuse_non_finite(table: NDArray, names: Any = None) -> None:
    """Raise for NaN or infinity, naming the first place and how many there are."""
    wrong = ~np.isfinite(table)
    if not wrong.any():
        return
    value, place = _first(table, wrong, names)
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(
        f"Input X contains {kind}: {place} (values that are NaN or inf: {wrong.sum()} in all)"
    )


def refuse_huge(table: NDArray, names: Any = None) -> None:
    """Raise for numbers that a network in float32 cannot compute with, naming the first place."""
    wrong = np.abs(table) > LARGEST
    if not wrong.any():
        return
    value, place = _first(table, wrong, names)
    raise ValueError(
        f"Input X contains {value:.3g}: {place}; numbers beyond {LARGEST:.0e} overflow in the"
        " network, scale X down first"
    )


def _first(table: NDArray, wrong: NDArray, names: Any) -> tuple[float, str]:
    """The first value that is wrong, and where it stands."""
    row, column = np.unravel_index(np.argmax(wrong), wrong.shape)
    name = repr(str(names[column])) if names is not None else column
    return float(table[row, column]), f"row {row}, column {name}"
