import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from coterie.data.tables.files import opened
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError

FRAME = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]})


def as_bytes(format):
    memory = io.BytesIO()
    if format == "excel":
        pytest.importorskip("xlsxwriter")
    if format == "npy":
        np.save(memory, FRAME.to_numpy())
    elif format == "npz":
        np.savez(memory, X=FRAME.to_numpy())
    else:
        getattr(FRAME, f"write_{format}")(memory)
    return memory.getvalue()


FORMATS = ["csv", "parquet", "ipc", "ipc_stream", "npy", "npz", "json", "ndjson", "excel"]
ZSTD = pa.compress(b"x\n" + b"1\n2\n3.5\n" * 99, codec="zstd", asbytes=True)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_known_by_what_it_begins_with(write, format):
    path = write(as_bytes(format), "table")  # without a suffix that would tell
    with opened(path) as source:
        assert source.name == str(path)
        np.testing.assert_array_equal(read_table(source).values, FRAME.to_numpy())


@pytest.mark.parametrize("format", FORMATS)
def test_standard_input_may_be_any_of_them(monkeypatch, format):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(as_bytes(format))))
    with opened("-") as source:
        assert source.name == "standard input"
        for _ in range(2):  # more than one pass
            np.testing.assert_array_equal(read_table(source).values, FRAME.to_numpy())


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("format", FORMATS)
def test_any_of_them_may_be_compressed(write, monkeypatch, codec, format):
    packed = packed_gzip(as_bytes(format)) if codec == "gzip" else packed_zstd(as_bytes(format))
    with opened(write(packed, "table.gz")) as source:
        np.testing.assert_array_equal(read_table(source).values, FRAME.to_numpy())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    with opened("-") as source:
        np.testing.assert_array_equal(read_table(source).values, FRAME.to_numpy())


def packed_gzip(content):
    """The same bytes whenever they are packed: they name a test."""
    return gzip.compress(content, mtime=0)


def packed_zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(content)
    return sink.getvalue().to_pybytes()


def test_settings_reach_the_text(write):
    with opened(write("x;é\n1;2\n".encode("latin-1")), separator=";", encoding="latin-1") as source:
        assert source.columns == ("x", "é")


@pytest.mark.parametrize(
    ("content", "name", "complaint"),
    [
        (packed_gzip(packed_gzip(b"x\n1\n")), "t.csv.gz", "is compressed twice"),
        (packed_gzip(b"x\n" + b"1\n" * 99)[:-9], "t.csv.gz", "is a damaged gzip file"),
        (ZSTD[:-4], "t.csv.zst", "is a damaged zstd file"),
        (b"SQLite format 3", "t.csv", "is an SQLite database"),
        (b"[1, 2]", "t.json", "cannot be read as JSON records"),
        (b'{"x": {"0": 1}}', "t.json", "is JSON of nested objects; a table is a list of records"),
        (b'[{"x": 1', "t.json", "cannot be read as JSON records"),
        (b"[]", "t.json", "has no rows"),
        (b'{"x": 1}\n{"x": \n', "t.jsonl", "cannot be read as JSON records"),
        (b"FEA1....", "t.feather", "is a Feather file of version 1"),
        (b"%PDF-1.7", "t.csv", "is a PDF document"),
        (b"x\n1\n", "t.parquet", "is not in the format of its extension"),
        (b"x\n1\n", "t.npy", "is not in the format of its extension"),
        (b"", "t.csv", "is empty"),
    ],
)
def test_what_cannot_be_read_is_told_by_name(write, content, name, complaint):
    path = write(content, name)
    with pytest.raises(SourceError) as info, opened(path):
        pass
    assert f"{path} {complaint}" in str(info.value)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with (
        pytest.raises(SourceError, match=r"no file .*absent\.csv"),
        opened(tmp_path / "absent.csv"),
    ):
        pass
    with pytest.raises(SourceError, match="is a folder without images"), opened(tmp_path):
        pass


def test_one_character_separates(write):
    with (
        pytest.raises(SourceError, match="the separator must be one character"),
        opened(write("x\n"), separator="::"),
    ):
        pass
