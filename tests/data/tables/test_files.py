import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from coterie.data.tables.files import opened
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError

FRAME = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]})


def as_bytes(format):
    memory = io.BytesIO()
    if format == "npy":
        np.save(memory, FRAME.to_numpy())
    elif format == "npz":
        np.savez(memory, X=FRAME.to_numpy())
    else:
        getattr(FRAME, f"write_{format}")(memory)
    return memory.getvalue()


FORMATS = ["csv", "parquet", "ipc", "ipc_stream", "npy", "npz"]


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


def test_settings_reach_the_text(write):
    with opened(write("x;é\n1;2\n".encode("latin-1")), separator=";", encoding="latin-1") as source:
        assert source.columns == ("x", "é")


@pytest.mark.parametrize(
    ("content", "name", "complaint"),
    [
        (gzip.compress(b"x\n1\n", mtime=0), "t.csv.gz", "is compressed; decompress it"),
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
