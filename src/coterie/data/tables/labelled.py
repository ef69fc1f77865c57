"""Write the rows of a file with their clusters, batch by batch."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.data.tables.batches import encoded_batches, numbered_batches
from coterie.data.tables.columns import columns_of, read_batch
from coterie.data.tables.compression import SUFFIXES as COMPRESSIONS
from coterie.data.tables.compression import compress, uncompressed_name
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.image_folder import ImageFolder
from coterie.data.tables.in_memory import FrameWriter
from coterie.data.tables.survey import Progress
from coterie.data.tables.table import ADDED, Batch, Source, SourceError, Writer, polars
from coterie.data.tables.writers import FORMATS, WRITABLE, frames_to
from coterie.files.replacing import replacing
from coterie.frames.column_parts import Numbers, Remarks
from coterie.frames.encoded_table import TableEncoding

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
    encoding: TableEncoding,
    assign: Assign,
    n_clusters: int,
    target: Path | None = None,
    progress: Progress = lambda share: None,
    remarks: Remarks | None = None,
    output: "Output | None" = None,
    *,
    by_values: bool = True,
) -> Sizes:
    """Assign all rows of a file, and write them with their clusters if a target is given.

    by_values: whether rows are assigned by their values, and not by their numbers alone.
    """
    sizes = Sizes(n_clusters)
    output = output or Output()
    typed = source.text_is_data and target is not None and output.is_typed(source, target)
    writing = nullcontext() if target is None else output.writer(source, target)
    batches = encoded_batches(source, encoding, remarks) if by_values else numbered_batches(source)
    with writing as writer:
        for batch, rows, values in batches:
            labels, confidence = assign(rows, values)
            sizes.add(labels, confidence)
            if writer is not None:
                written = _with_numbers(source, encoding, batch) if typed else batch
                writer.write(written, labels, confidence)
            progress(batch.share)
    return sizes


def refuse_labelled(source: Source) -> None:
    """Raise if an added column already exists."""
    for name in ADDED:
        if name in source.columns:
            raise SourceError(f"{source.name} already has a column {name!r}; rename it first")


def refuse_other_format(source: Source, target: Path) -> None:
    """Raise if the extension of the target is that of no format that can be written."""
    suffix = _inner(target).suffix.lower()
    if suffix and suffix not in source.suffixes and suffix not in WRITABLE:
        known = dict.fromkeys([*source.suffixes, *WRITABLE])
        raise SourceError(f"cannot write {target.name}; a table must end in {', '.join(known)}")


@dataclass(frozen=True)
class Output:
    """What is written of a labelled file.

    labels_only: the clusters and the columns that identify the rows (ids), nothing else;
    keep_formulas: whether text that a spreadsheet would run is written as it is.
    """

    labels_only: bool = False
    ids: tuple[str, ...] = ()
    keep_formulas: bool = False

    def is_typed(self, source: Source, target: Path) -> bool:
        """Whether the target has types for numbers, which a source of text has not."""
        suffix = _inner(target).suffix.lower()
        return suffix in FORMATS and suffix not in source.suffixes and not self.labels_only

    @contextmanager
    def writer(self, source: Source, target: Path) -> Iterator[Writer]:
        """A writer in the format of the target's extension, without one in that of the source."""
        inner = _inner(target)
        with replacing(target) as part:
            if inner == target:
                with self._plain(source, part, inner.suffix.lower()) as writer:
                    yield writer
                return
            with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
                plain = Path(folder) / inner.name
                with self._plain(source, plain, inner.suffix.lower()) as writer:
                    yield writer
                compress(plain, part, COMPRESSIONS[target.suffix.lower()])

    @contextmanager
    def _plain(self, source: Source, target: Path, suffix: str) -> Iterator[Writer]:
        own = not suffix or suffix in source.suffixes
        if own and not self.labels_only:
            first = getattr(source, "first", source)  # of several files
            writing = (
                first.writer(target, keep_formulas=self.keep_formulas)
                if isinstance(first, Delimited)
                else source.writer(target)
            )
            with writing as writer:
                yield writer
            return
        suffix = suffix if suffix in WRITABLE else ".csv"
        columns = self.ids if self.labels_only else written_columns(source)
        with frames_to(target, suffix, keep_formulas=self.keep_formulas) as write:
            yield FrameWriter(write, columns)


def written_columns(source: Source) -> tuple[str, ...]:
    """The columns of a source that are written: of images, their names."""
    return source.columns[:1] if isinstance(source, ImageFolder) else source.columns


def _inner(target: Path) -> Path:
    return uncompressed_name(target)


def _with_numbers(source: Source, encoding: TableEncoding, batch: Batch) -> Batch:
    """The batch with its numeric columns as numbers, missing ones null."""
    pairs = zip(encoding.columns, encoding.parts, strict=True)
    names = [name for name, part in pairs if isinstance(part, Numbers)]
    values = read_batch(columns_of(source, names), batch.frame, 0)
    series = polars().Series
    return batch._replace(
        frame=batch.frame.with_columns(
            series(name, values[:, at], nan_to_null=True) for at, name in enumerate(names)
        )
    )
