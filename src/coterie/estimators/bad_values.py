"""Values that no network can read; light enough for workers that only draw rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
