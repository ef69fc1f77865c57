"""A fitted encoding of all columns of a table, and tables that were encoded by one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.column_parts import Indicators, Numbers, Omission, Part, Remarks
from coterie.frames.column_roles import LeftOut
from coterie.frames.protocol import Groups
from coterie.frames.table_columns import FrameColumn, read_columns


class Encoded(NamedTuple):
    """The encoded table (n, d), and notes on the changes."""

    table: NDArray
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableEncoding:
    """The fitted encodings, one per column of the table, and notes on them.

    columns: names of the table's columns; names, groups: of the d encoded columns; groups (d,) as
    `fit_standard` expects them; left_out: the dropped columns.
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    names: tuple[str, ...]
    groups: Groups
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table that are clustered by."""
        pairs = zip(self.columns, self.parts, strict=True)
        return tuple(name for name, part in pairs if not isinstance(part, Omission))

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of each column that has some."""
        pairs = zip(self.columns, self.parts, strict=True)
        return {name: part.levels for name, part in pairs if isinstance(part, Indicators)}

    @property
    def medians(self) -> NDArray[np.float64]:
        """What fills the gaps of each column of numbers (d,)."""
        return np.array([part.median for part in self.parts if isinstance(part, Numbers)])

    @property
    def takes_arrays(self) -> bool:
        """Whether every column held numbers, so that an array of them can be encoded."""
        return all(
            isinstance(part, Numbers) or (isinstance(part, Omission) and part.numeric)
            for part in self.parts
        )

    def __call__(self, frame: Any) -> Encoded:
        """Encode a data frame with the columns of the fitted one."""
        return self.encode(read_columns(frame))

    def encode(self, columns: Iterable[FrameColumn], remarks: Remarks | None = None) -> Encoded:
        """Encode the columns of a table, in the order of the fitted ones."""
        remarks = Remarks() if remarks is None else remarks
        pairs = zip(self.parts, columns, strict=True)
        encoded = [part.encode(column, remarks) for part, column in pairs]
        return Encoded(np.concatenate(encoded, axis=1), remarks.sentences())

    def of_array(self, table: NDArray) -> NDArray:
        """The columns of an array (n, d') that are clustered by: (n, d)."""
        kept = [at for at, part in enumerate(self.parts) if isinstance(part, Numbers)]
        return table if len(kept) == table.shape[1] else table[:, kept]

    def without_dropped(self) -> "TableEncoding":
        """The encoding of a table that has only the columns that are clustered by."""
        parts = tuple(part for part in self.parts if not isinstance(part, Omission))
        return replace(self, parts=parts, columns=self.used)

    def readable(self, table: NDArray) -> NDArray:
        """An encoded table (n, d) with indicators of one and zero, for people."""
        heights = [
            height
            for part in self.parts
            if not isinstance(part, Omission)
            for height in (
                [part.height] * len(part.levels) if isinstance(part, Indicators) else [1]
            )
        ]
        return table / np.array(heights) if any(height != 1 for height in heights) else table


@dataclass(frozen=True)
class EncodedTable:
    """A table (n, d) that was encoded already, such as that of a file."""

    table: NDArray
    encoding: TableEncoding

    def __len__(self) -> int:
        return len(self.table)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        return self.table.shape
