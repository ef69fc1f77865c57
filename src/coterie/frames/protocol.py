"""The contract of a frame, and tables that are read through one."""

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

FrameKind = Literal["plain", "standard"]
FRAMES: tuple[FrameKind, ...] = get_args(FrameKind)
# Which columns are indicators of one categorical column, (d,): they share a number.
Groups = NDArray[np.intp]
NUMERIC = -1  # of a column that is none


class Frame(Protocol):
    """A fitted map from the columns of a table to the input of a network.

    width: how many columns the network reads.
    """

    @property
    def width(self) -> int:
        """How many columns it gives."""

    def __call__(self, table: NDArray, /) -> NDArray[np.float32]:
        """(n, d) -> (n, width); missing columns are zero."""

    def in_units(self, table: NDArray, /) -> NDArray[np.float64]:
        """The columns (n, d) in the units of the frame, before it turns or cuts them."""

    def rows(self, points: NDArray, /) -> NDArray[np.float64]:
        """The rows (n, d) at points (n, d) of the network's input; raises where it is projected."""


@dataclass(frozen=True)
class FramedTable:
    """A table (n, d) in a frame: rows are mapped on access, so a table on disk stays there."""

    table: NDArray
    frame: Frame

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Some rows: (m, width)."""
        return self.frame(self.table[rows])

    def units(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The columns of some rows in the units of the frame: (m, d)."""
        return self.frame.in_units(self.table[rows])
