import contextlib
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from coterie.data.tables import columnar
from coterie.data.tables.columnar import ArrowFile, ArrowStream, Parquet
from coterie.data.tables.table import SourceError

TABLE = pa.table(
    {
        "x": pa.array([1.5, 2.5, 3.5]),
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
        "when": pa.array([0, 1, 2], pa.timestamp("s")),
        "many": pa.array([[1], [2, 3], []]),
    }
).replace_schema_metadata({"made by": "a test"})


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


def read_stream(path):
    return pa.ipc.open_stream(path.read_bytes()).read_all()


FORMATS = {
    "parquet": (Parquet, pa.parquet.write_table, pa.parquet.read_table),
    "feather": (ArrowFile, pa.feather.write_feather, pa.feather.read_table),
    "arrows": (ArrowStream, write_stream, read_stream),
}


@pytest.fixture(params=FORMATS)
def saved(request, tmp_path, monkeypatch):
    """A source in small batches, and what reads a file of its format independently."""
    monkeypatch.setattr(columnar, "BATCH_ROWS", 2)
    kind, write, read = FORMATS[request.param]
    path = tmp_path / f"table.{request.param}"
    write(TABLE, path)
    return kind(path, "it"), read


def test_rows_come_in_batches(saved):
    source, _ = saved
    assert source.columns == ("x", "kind", "when", "many")
    batches = list(source.batches())
    assert [len(batch.frame) for batch in batches] == [2, 1]
    assert [x for batch in batches for x in batch.frame["x"]] == [1.5, 2.5, 3.5]
    assert batches[-1].share == 1


def test_what_is_written_is_the_table_with_two_columns_more(saved, tmp_path):
    source, read = saved
    target = tmp_path / "labels"
    with source.writer(target) as writer:
        first, second = source.batches()
        writer.write(first, np.array([1, 0]), np.array([0.5, 1.0]))
        writer.write(second, np.array([2]), np.array([0.25]))
    written = read(target)
    assert written.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()
    assert written.schema.field("when").type == pa.timestamp("s") or source.kind == "Parquet"
    assert written.schema.metadata[b"made by"] == b"a test"
    assert written["cluster"].to_pylist() == [1, 0, 2]
    assert written["confidence"].to_pylist() == [0.5, 1.0, 0.25]


def test_the_index_of_a_data_frame_survives(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["ann", "bob"])
    frame.to_parquet(tmp_path / "in.parquet")
    source = Parquet(tmp_path / "in.parquet", "it")
    with source.writer(tmp_path / "out.parquet") as writer:
        (batch,) = source.batches()
        writer.write(batch, np.array([0, 1]), np.array([1.0, 1.0]))
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert list(back.index) == ["ann", "bob"]
    assert list(back.columns) == ["x", "cluster", "confidence"]


@pytest.mark.parametrize("codec", ["NONE", "ZSTD"])
def test_parquet_keeps_its_compression(tmp_path, codec):
    pa.parquet.write_table(TABLE, tmp_path / "in.parquet", compression=codec)
    source = Parquet(tmp_path / "in.parquet", "it")
    with source.writer(tmp_path / "out.parquet") as writer:
        (batch,) = source.batches()
        writer.write(batch, np.zeros(3, dtype=int), np.ones(3))
    before, after = (
        pa.parquet.ParquetFile(tmp_path / name).metadata.row_group(0).column(0).compression
        for name in ("in.parquet", "out.parquet")
    )
    assert before == after


def test_a_damaged_file_is_refused_by_name(tmp_path):
    path = tmp_path / "table.parquet"
    pa.parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match="it is a damaged Parquet file"):
        Parquet(path, "it")


def test_a_table_without_rows_is_refused(tmp_path):
    pa.parquet.write_table(TABLE[:0], tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="it has no rows"):
        list(Parquet(tmp_path / "t.parquet", "it").batches())


def test_columns_of_one_name_are_refused(tmp_path):
    twice = pa.table([[1], [2]], names=["x", "x"])
    pa.feather.write_feather(twice, tmp_path / "t.feather")
    with pytest.raises(SourceError, match="several columns 'x'"):
        ArrowFile(tmp_path / "t.feather", "it")


def test_text_that_is_no_text_is_refused_and_does_not_panic(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32).tobytes())
    broken = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xfe\xfd\xfc"))
    pa.parquet.write_table(pa.table({"x": [1.0, 2.0], "s": broken}), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="it is a damaged Parquet file"):
        list(Parquet(tmp_path / "t.parquet", "it").batches())


NAME, NO_TEXT = "NAMExx", b"NAM\xff\xfex"
NUMBERS = pa.array([1.0, 2.0])
RECORD = pa.StructArray.from_arrays([NUMBERS], [NAME])
NAMED = {
    "column": pa.table({NAME: NUMBERS}),
    "record": pa.table({"r": RECORD}),
    "records": pa.table({"r": pa.array([[{NAME: 1.0}]] * 2)}),
    "list": pa.table({"r": pa.array([[1.0]] * 2, pa.list_(pa.field(NAME, pa.float64())))}),
    "categories": pa.table({"r": pa.DictionaryArray.from_arrays(pa.array([0, 1]), RECORD)}),
    "map": pa.table({"r": pa.array([[("a", {NAME: 1.0})]] * 2, pa.map_(pa.string(), RECORD.type))}),
    "time zone": pa.table({"r": pa.array([0, 1], pa.timestamp("us", tz=NAME))}),
    "note": pa.table(
        [NUMBERS], schema=pa.schema([pa.field("r", pa.float64(), metadata={"k": NAME})])
    ),
}


# Parquet has no categories of records, and its own name for what a list holds.
STORED = [
    (place, suffix)
    for place in NAMED
    for suffix in FORMATS
    if suffix != "parquet" or place not in ("categories", "list")
]


def misnamed(table):
    """The table with a name that is no text."""
    sink = pa.BufferOutputStream()
    write_stream(table, sink)
    whole = sink.getvalue().to_pybytes()
    assert NAME.encode() in whole
    return pa.ipc.open_stream(whole.replace(NAME.encode(), NO_TEXT)).read_all()


@pytest.mark.parametrize(("place", "suffix"), STORED)
def test_a_name_that_is_no_text_is_refused_and_nothing_panics(tmp_path, capfd, place, suffix):
    kind, write, _ = FORMATS[suffix]
    write(misnamed(NAMED[place]), tmp_path / "t")
    with pytest.raises(SourceError, match=r"it is a damaged .* file: 'utf-8' codec"):
        list(kind(tmp_path / "t", "it").batches())
    assert capfd.readouterr().err == ""  # where the engine of polars prints a panic


@pytest.mark.parametrize("suffix", FORMATS)
def test_notes_on_a_table_may_be_any_bytes(tmp_path, capfd, suffix):
    kind, write, read = FORMATS[suffix]
    table = pa.table({"x": NUMBERS}).replace_schema_metadata({b"made by": NO_TEXT})
    write(table, tmp_path / "t")
    source = kind(tmp_path / "t", "it")
    (batch,) = source.batches()
    assert batch.frame["x"].to_list() == [1.0, 2.0]
    with source.writer(tmp_path / "out") as writer:
        writer.write(batch, np.array([0, 1]), np.array([1.0, 0.5]))
    assert read(tmp_path / "out").schema.metadata[b"made by"] == NO_TEXT
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("error", [pl.exceptions.PanicException, pl.exceptions.ComputeError])
def test_a_panic_of_the_reader_is_an_error_of_the_file(tmp_path, monkeypatch, error):
    def failing(*_):
        raise error("called `Option::unwrap()` on a `None` value")

    pa.parquet.write_table(TABLE, tmp_path / "t.parquet")
    source = Parquet(tmp_path / "t.parquet", "it")
    monkeypatch.setattr(columnar, "as_frame", failing)
    with pytest.raises(SourceError, match="it is a damaged Parquet file: called"):
        list(source.batches())


def test_damaged_bytes_are_refused_or_read(tmp_path):
    generator = np.random.default_rng(0)
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(TABLE, path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(150):
        damaged = whole.copy()
        damaged[generator.integers(4, len(whole), 8)] = generator.integers(0, 256, 8)
        path.write_bytes(damaged.tobytes())
        with contextlib.suppress(SourceError):
            list(Parquet(path, "it").batches())


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_name_need_not_be_utf8(tmp_path, suffix):
    kind, write, read = FORMATS[suffix]
    write(TABLE, tmp_path / "t")
    path = tmp_path / os.fsdecode(b"caf\xe9")
    (tmp_path / "t").rename(path)
    source = kind(path, "it")
    target = tmp_path / os.fsdecode(b"out\xe9")
    with source.writer(target) as writer:
        (batch,) = source.batches()
        writer.write(batch, np.zeros(3, dtype=int), np.ones(3))
    target.rename(tmp_path / "out")
    assert len(read(tmp_path / "out")) == 3
