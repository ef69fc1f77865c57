"""One Parquet file, a partition: surveyed in the first pass, labelled in the second."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.dask.partitions import naming
from coterie.data.tables.table import ADDED, SourceError, pyarrow
from coterie.estimators.bad_values import refuse_bad_values
from coterie.estimators.drawing import Located, Survey, locate, merge, survey
from coterie.files.replacing import replacing
from coterie.inference.row_hashes import Hashes

if TYPE_CHECKING:
    from coterie.estimators.fitted import Fitted

BATCH_VALUES, FEWEST_ROWS = 4_194_304, 16_384  # of a batch that is read
TAG = b"coterie"  # the metadata of a labelled file tell which run wrote it


class Columns(NamedTuple):
    """The columns that are clustered, and the type in which all of them are read.

    truths: those that are booleans.
    """

    names: tuple[str, ...]
    dtype: str
    truths: tuple[str, ...] = ()


class Labeller(NamedTuple):
    """What labels a file: the columns, what fills their gaps (d,), and what a fit left behind.

    written: the columns that are written beside the clusters, None for all; confident: whether
    their probabilities are written too.
    """

    columns: Columns
    medians: NDArray[np.float64]
    fitted: "Fitted"
    tag: str
    written: tuple[str, ...] | None = None
    confident: bool = True


class Labelled(NamedTuple):
    """The rows of each cluster (k,), their summed confidence (k,), and the rows that are noise.

    Where no confidence is computed, its sum is NaN.
    """

    counts: NDArray[np.int64]
    confidence: NDArray[np.float64]
    noise: int


def is_numeric(kind: Any) -> bool:
    """Whether a column of this Arrow type can be clustered."""
    types = pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def survey_file(path: Path, columns: Columns, size: int, salt: int, share: float = 1.0) -> Survey:
    """The survey of a file; errors name it."""
    with naming(str(path)):
        surveys = [
            survey(_refused(values, columns), size, salt, share)
            for values in _batches(path, columns)
        ]
        return merge(surveys) if len(surveys) != 1 else surveys[0]


def locate_in_file(path: Path, columns: Columns, hashes: Hashes, salt: int) -> Located:
    """Where a file has rows with these hashes (m,)."""
    with naming(str(path)):
        found = [locate(values, hashes, salt) for values in _batches(path, columns)]
        return Located(
            np.sum([each.counts for each in found], axis=0),
            np.concatenate([each.which for each in found]),
            np.concatenate([each.rows for each in found]),
        )


def label_file(
    path: Path, target: Path, labeller: Labeller, written: Callable[[], None] = lambda: None
) -> Labelled:
    """Write the rows of a file with their clusters; the target is whole or not there.

    written: called when only the disk has to store them.
    """
    with naming(str(path)), replacing(target, tidy=False) as part:
        counted = _write_labelled(path, part, labeller)
        written()
        return counted


def read_labelled(target: Path, tag: str, n_rows: int) -> Labelled | None:
    """What was counted in a target that the run with this tag has written, all its rows."""
    arrow = pyarrow()
    try:
        metadata = arrow.parquet.read_metadata(target)
        told = json.loads((metadata.metadata or {})[TAG])
        if told["tag"] != tag or metadata.num_rows != n_rows:
            return None
        counts, confidence = np.array(told["counts"]), told["confidence"]
        known = np.full(len(counts), np.nan) if confidence is None else np.array(confidence)
        return Labelled(counts, known, told["noise"])
    except (OSError, arrow.ArrowException, KeyError, ValueError, TypeError):
        return None


def _write_labelled(path: Path, part: Path, labeller: Labeller) -> Labelled:
    arrow, total = pyarrow(), _nothing(labeller.fitted.n_clusters)
    with _opened(path) as file:
        _refuse_columns(file.schema_arrow, labeller.columns)
        schema, wanted = file.schema_arrow, None
        if labeller.written is not None:
            _refuse_missing(schema, labeller.written)
            schema = arrow.schema([schema.field(name) for name in labeller.written])
            wanted = [*dict.fromkeys([*labeller.written, *labeller.columns.names])]
        kept = schema.names
        schema = schema.append(arrow.field(ADDED[0], arrow.int32(), nullable=False))
        if labeller.confident:
            schema = schema.append(arrow.field(ADDED[1], arrow.float32(), nullable=False))
        # Probabilities are as many as rows, nearly: a dictionary would cost time and save nothing.
        compact = [*(leaf.path for leaf in file.schema), ADDED[0]]
        with arrow.parquet.ParquetWriter(part, schema, use_dictionary=compact) as writer:
            for batch in _read(file, labeller.columns, wanted):
                values = _refused(_values(batch, labeller.columns), labeller.columns)
                labels, own = _labels(_filled(values, labeller.medians), labeller)
                total = added(total, _counted(labels, own, len(total.counts)))
                columns = [batch.column(name) for name in kept]
                columns += [arrow.array(labels.astype(np.int32))]
                columns += [] if own is None else [arrow.array(own)]
                writer.write_batch(arrow.record_batch(columns, schema=schema))
            told = {"tag": labeller.tag, "noise": total.noise, "counts": total.counts.tolist()}
            known = np.isfinite(total.confidence).all()
            told["confidence"] = total.confidence.tolist() if known else None
            writer.add_key_value_metadata({TAG: json.dumps(told).encode()})
    return total


def added(one: Labelled, other: Labelled) -> Labelled:
    """What was counted in both."""
    return Labelled(
        one.counts + other.counts, one.confidence + other.confidence, one.noise + other.noise
    )


def _labels(
    values: NDArray, labeller: Labeller
) -> tuple[NDArray[np.intp], NDArray[np.float32] | None]:
    """The clusters of rows (n, d), and how probable they are if that is wanted, (n,) each."""
    fitted = labeller.fitted
    return fitted.assign(values) if labeller.confident else (fitted.predict(values), None)


def _counted(labels: NDArray[np.intp], own: NDArray[np.float32] | None, k: int) -> Labelled:
    inside, n_noise = labels, 0
    if labels.min(initial=0) < 0:
        inside = labels[labels >= 0]
        n_noise = len(labels) - len(inside)
    counts: NDArray[np.int64] = np.bincount(inside, minlength=k)
    if own is None:
        return Labelled(counts, np.full(k, np.nan), n_noise)
    doubtful = np.flatnonzero(own < 1)
    doubtful = doubtful[labels[doubtful] >= 0] if n_noise else doubtful
    doubt = np.bincount(labels[doubtful], 1 - own[doubtful].astype(np.float64), minlength=k)
    return Labelled(counts, counts.astype(np.float64) - doubt, n_noise)


def _nothing(k: int) -> Labelled:
    return Labelled(np.zeros(k, dtype=np.int64), np.zeros(k), 0)


def _batches(path: Path, columns: Columns) -> Iterator[NDArray]:
    """The values (m, d) of a file, NaN if missing; at least one batch, which may be empty."""
    with _opened(path) as file:
        _refuse_columns(file.schema_arrow, columns)
        some = False
        for batch in _read(file, columns, list(columns.names)):
            some = True
            yield _values(batch, columns)
        if not some:
            yield np.empty((0, len(columns.names)), dtype=columns.dtype)


def _opened(path: Path) -> Any:
    return pyarrow().parquet.ParquetFile(path, pre_buffer=False)


def _read(file: Any, columns: Columns, names: list[str] | None) -> Iterator[Any]:
    """The batches of a file, read by this thread: the other cores have workers of their own."""
    batches: Iterator[Any] = file.iter_batches(
        _batch_rows(columns), columns=names, use_threads=False
    )
    return batches


def _batch_rows(columns: Columns) -> int:
    return max(BATCH_VALUES // max(len(columns.names), 1), FEWEST_ROWS)


def _values(batch: Any, columns: Columns) -> NDArray:
    values = np.empty((batch.num_rows, len(columns.names)), dtype=columns.dtype, order="F")
    for at, name in enumerate(columns.names):
        column = batch.column(name)
        if column.null_count or column.type != columns.dtype:
            column = column.cast(columns.dtype).fill_null(float("nan"))
        values[:, at] = column.to_numpy(zero_copy_only=False)
    return values


def _refused(values: NDArray, columns: Columns) -> NDArray:
    """The values (m, d), unless one is infinite or too large."""
    if len(values) and not (max(values.max(), -values.min()) <= 1e15):  # NaN or worse
        refuse_bad_values(np.where(np.isnan(values), 0.0, values), columns.names)
    return values


def _filled(values: NDArray, medians: NDArray[np.float64]) -> NDArray:
    if len(values) and np.isnan(values.max()):  # NaN, if one is
        gaps = np.isnan(values)
        values[gaps] = np.broadcast_to(medians, values.shape)[gaps]
    return values


def _refuse_columns(schema: Any, columns: Columns) -> None:
    _refuse_missing(schema, columns.names)
    for name in columns.names:
        kind = schema.field(name).type
        if not is_numeric(kind):
            raise SourceError(f"column {name!r} has the type {kind}; the first file has numbers")


def _refuse_missing(schema: Any, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise SourceError(f"no column {', '.join(map(repr, missing))}, which the first file has")


def read_columns_of(path: Path, tried: Sequence[str]) -> tuple[Columns, dict[str, str]]:
    """Those of the tried columns that are numbers, and why the others are not used."""
    arrow = pyarrow()
    schema = arrow.parquet.read_schema(path)
    numeric = [name for name in tried if is_numeric(schema.field(name).type)]
    others = {
        name: f"not numbers but {schema.field(name).type}" for name in tried if name not in numeric
    }
    single = all(schema.field(name).type in (arrow.float32(), arrow.float16()) for name in numeric)
    truths = tuple(name for name in numeric if arrow.types.is_boolean(schema.field(name).type))
    return Columns(tuple(numeric), "float32" if single else "float64", truths), others
