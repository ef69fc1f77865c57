import gzip
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from coterie.data.tables import writers
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.files import opened
from coterie.data.tables.labelled import Output, label_rows
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError

READERS = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".json": pl.read_json,
    ".jsonl": pl.read_ndjson,
    ".xlsx": pl.read_excel,
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
    ".arrows": pl.read_ipc_stream,
}
TEXT = 'name,x,note\n"Ann, B",1.5,=1+1\nBob,,é\nCy,-2.5,\n'


def label(source, target, **settings):
    def assign(rows, values):
        return rows % 2, np.full(len(rows), 0.75)

    return label_rows(
        source, read_table(source).encoding, assign, 2, target, output=Output(**settings)
    )


@pytest.mark.parametrize("suffix", READERS)
def test_a_table_of_text_is_written_in_any_format(csv, tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    label(csv(TEXT), target)
    written = READERS[suffix](target)
    assert written.columns == ["name", "x", "note", "cluster", "confidence"]
    assert written["name"].to_list() == ["Ann, B", "Bob", "Cy"]
    assert written["x"].to_list() == [1.5, None, -2.5]
    formula = "'=1+1" if suffix in (".csv", ".tsv") else "=1+1"
    assert written["note"].to_list() == [formula, "é", None]
    assert written["cluster"].to_list() == [0, 1, 0]
    assert written["confidence"].to_list() == [0.75] * 3


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("given", [".csv", ".parquet", ".json", ".npy", ".xlsx"])
def test_any_format_is_written_as_any_other(tmp_path, given, suffix):
    path, target = tmp_path / f"in{given}", tmp_path / f"out{suffix}"
    frame = pl.DataFrame({"x1": [1.5, 2.5], "x2": [3.5, 4.5]})
    if given == ".npy":
        np.save(path, frame.to_numpy())
    elif given == ".xlsx":
        frame.write_excel(path)
    else:
        getattr(frame, f"write_{given[1:]}")(path)
    with opened(path) as source:
        label(source, target)
    written = READERS[suffix](target)
    assert written.select("x1", "x2").rows() == frame.rows()
    assert written["cluster"].to_list() == [0, 1]


@pytest.mark.parametrize("suffix", READERS)
def test_batches_are_one_table(csv, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("coterie.data.tables.delimited.BLOCK_BYTES", 30)
    source = csv("x,who\n" + "".join(f"{at}.5,p{at}\n" for at in range(50)))
    assert len(list(source.batches())) > 3
    label(source, tmp_path / f"out{suffix}")
    written = READERS[suffix](tmp_path / f"out{suffix}")
    assert written["x"].to_list() == [at + 0.5 for at in range(50)]
    assert written["cluster"].to_list() == [at % 2 for at in range(50)]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_target_may_be_compressed(csv, tmp_path, suffix):
    target = tmp_path / f"out.json{suffix}"
    label(csv(TEXT), target)
    packed = target.read_bytes()
    if suffix == ".gz":
        text = gzip.decompress(packed)
    else:
        text = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    assert [row["cluster"] for row in json.loads(text)] == [0, 1, 0]
    with opened(target) as source:
        assert read_table(source).n_rows == 3
    label(csv(TEXT), target)
    assert target.read_bytes() == packed


def test_labels_only(csv, tmp_path):
    target = tmp_path / "out.csv"
    label(csv(TEXT), target, labels_only=True, ids=("name",))
    assert target.read_text().splitlines() == [
        "name,cluster,confidence",
        '"Ann, B",0,0.750000',
        "Bob,1,0.750000",
        "Cy,0,0.750000",
    ]
    label(csv(TEXT), tmp_path / "out.parquet", labels_only=True)
    assert pl.read_parquet(tmp_path / "out.parquet").columns == ["cluster", "confidence"]


def test_formulas_may_be_kept(csv, tmp_path):
    label(csv(TEXT), tmp_path / "out.csv", keep_formulas=True)
    assert ",=1+1," in (tmp_path / "out.csv").read_text()


def test_excel_has_an_end(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "EXCEL_ROWS", 3)
    target = tmp_path / "out.xlsx"
    with pytest.raises(SourceError, match="an Excel sheet has at most 3 rows"):
        label(csv(TEXT), target)
    assert not target.exists()


@pytest.mark.parametrize(
    ("cells", "refused_by"),
    [
        ([[1, 2], [3]], (".csv", ".tsv")),
        ([{"a": 1}, {"a": 2}], (".csv",)),
        ([b"a", b"b"], (".csv", ".json", ".jsonl")),
        ([[b"a"], [b"b"]], (".csv", ".jsonl")),
        ([{"a": [b"a"]}, {"a": []}], (".jsonl",)),
        (pl.Series([1, 2], dtype=pl.Int128), (".parquet", ".feather")),
        (pl.Series([1, 2], dtype=pl.Duration), (".csv",)),
    ],
)
def test_a_format_without_a_place_for_a_column_is_refused(tmp_path, cells, refused_by):
    frame = pl.DataFrame({"x": [1, 2], "odd": cells})
    for suffix in (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".feather", ".xlsx"):
        path = tmp_path / f"out{suffix}"
        if suffix not in refused_by:
            continue
        with writers.frames_to(path, suffix) as write:
            with pytest.raises(SourceError, match=f"column 'odd' is of type .* {suffix} files"):
                write(frame)
            write(frame.select("x"))
    with writers.frames_to(tmp_path / "out.xlsx", ".xlsx") as write:
        write(frame)


def test_lists_go_from_parquet_to_parquet_and_not_to_csv(tmp_path):
    given = tmp_path / "in.parquet"
    pl.DataFrame({"x": [1.0, 2, 3], "y": [1, 2, 4], "odd": [[1], [2], []]}).write_parquet(given)
    with opened(given) as source:
        label(source, tmp_path / "out.parquet")
        with pytest.raises(SourceError, match=r"List\(Int64\), which .csv files cannot hold"):
            label(source, tmp_path / "out.csv")
        label(source, tmp_path / "alone.csv", labels_only=True)
    assert pl.read_parquet(tmp_path / "out.parquet")["odd"].to_list() == [[1], [2], []]
    assert not (tmp_path / "out.csv").exists()


def test_a_failure_leaves_nothing_behind(csv, tmp_path):
    source = csv(TEXT)
    before = set(tmp_path.iterdir())
    for name in ("out.parquet", "out.xlsx", "out.csv.gz"):
        with pytest.raises(ZeroDivisionError):
            label_rows(
                source,
                read_table(source).encoding,
                lambda *_: 1 / 0,
                2,
                tmp_path / name,
                output=Output(),
            )
    assert set(tmp_path.iterdir()) == before


def test_the_name_of_a_source_is_in_the_messages_about_it(write):
    path = write("x\n", "t.csv")
    with pytest.raises(SourceError, match="it has a header but no rows"):
        list(Delimited(path, "it").batches())
