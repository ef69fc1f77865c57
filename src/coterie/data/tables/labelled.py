"""Write the rows of a file with their clusters, batch by batch, in the same format."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.columns import Column
from coterie.data.tables.gaps import fill_gaps
from coterie.data.tables.survey import Progress
from coterie.data.tables.table import ADDED, Source, SourceError, Table
from coterie.files.replacing import replacing

# Row numbers in the file (m,) and their values (m, d) -> labels and confidence, (m,) each.
Assign = Callable[
    [NDArray[np.intp], NDArray[np.float64]], tuple[NDArray[np.intp], NDArray[np.float64]]
]


class Sizes:
    """Number of rows and summed confidence of each cluster, and the number of noise rows."""

    def __init__(self, n_clusters: int) -> None:
        self.counts = np.zeros(n_clusters, dtype=np.intp)
        self.confidence = np.zeros(n_clusters)
        self.noise = 0

    def add(self, labels: NDArray[np.intp], confidence: NDArray[np.float64]) -> None:
        """Count more rows; a label of -1 is noise."""
        k, inside = len(self.counts), labels >= 0
        self.counts += np.bincount(labels[inside], minlength=k)
        self.confidence += np.bincount(labels[inside], confidence[inside], minlength=k)
        self.noise += int((~inside).sum())


def label_rows(
    source: Source,
    table: Table,
    assign: Assign,
    n_clusters: int,
    target: Path | None = None,
    progress: Progress = lambda share: None,
) -> Sizes:
    """Assign all rows of a file, and write them with their clusters if a target is given."""
    sizes = Sizes(n_clusters)
    writing = nullcontext() if target is None else _writer(source, target)
    with writing as writer:
        start = 0
        for batch in source.batches():
            columns = [Column(name, text_is_data=source.text_is_data) for name in table.names]
            values = np.column_stack(
                [column.read(batch.frame[column.name], start) for column in columns]
            )
            fill_gaps(values, table.names, table.filled)
            rows = np.arange(start, start + len(batch.frame))
            labels, confidence = assign(rows, values)
            sizes.add(labels, confidence)
            if writer is not None:
                writer.write(batch, labels, confidence)
            start += len(rows)
            progress(batch.share)
    return sizes


def refuse_labelled(source: Source) -> None:
    """Raise if an added column already exists."""
    for name in ADDED:
        if name in source.columns:
            raise SourceError(f"{source.name} already has a column {name!r}; rename it first")


def refuse_other_format(source: Source, target: Path) -> None:
    """Raise if the extension of the target does not match the format of the source."""
    if target.suffix and target.suffix.lower() not in source.suffixes:
        raise SourceError(
            f"the output has the format of {source.name};"
            f" use the extension {' or '.join(source.suffixes[:2])}, not {target.name}"
        )


@contextmanager
def _writer(source: Source, target: Path) -> Iterator:
    with replacing(target) as part, source.writer(part) as writer:
        yield writer
