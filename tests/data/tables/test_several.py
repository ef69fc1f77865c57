import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie.data.tables.labelled import label_rows
from coterie.data.tables.several import opened_together
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError


def read(*paths, **stated):
    with opened_together(paths, **stated) as source:
        return read_table(source)


def test_the_rows_of_several_files_follow_each_other(write, tmp_path):
    paths = [write("x,y\n1,2\n3,4\n", "a.csv"), write("x;y\n5;6\n", "b.csv")]
    table = read(*paths)
    assert table.values.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert read(tmp_path / "*.csv").values.tolist() == table.values.tolist()
    assert read(paths[0]).values.tolist() == [[1, 2], [3, 4]]


def test_all_rows_are_written_in_the_format_of_the_first(write, tmp_path):
    paths = [write("x,who\n1,a\n", "a.csv"), write("x,who\n-2,=b\n", "b.csv")]
    with opened_together(paths) as source:
        shares = []
        sizes = label_rows(
            source,
            read_table(source, progress=shares.append).encoding,
            lambda rows, values: (rows, np.ones(len(rows))),
            2,
            tmp_path / "out.csv",
        )
    assert sizes.counts.tolist() == [1, 1]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "x,who,cluster,confidence",
        "1,a,0,1.000000",
        "-2,'=b,1,1.000000",
    ]


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        ("x,z\n1,2\n", "odd.csv", "odd.csv has no column 'y', a column 'z', unlike "),
        ("x\n1\n", "odd.csv", "odd.csv has no column 'y', unlike "),
        ("y,x\n1,2\n", "odd.csv", "odd.csv has the same columns in another order, unlike "),
        ("x;y\n1,5;2\n", "odd.csv", "odd.csv has the decimal sign ',', "),
        ('[{"x": 1, "y": 2}]', "odd.json", "odd.json has another format than "),
    ],
)
def test_a_file_that_does_not_fit_is_named(write, text, name, complaint):
    first = write("x,y\n1.5,2\n", "first.csv")
    with pytest.raises(SourceError) as info:
        read(first, write(text, name))
    assert complaint in str(info.value)


def test_types_must_agree(tmp_path):
    pa.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"x": ["1"]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet has other types of columns than "):
        read(tmp_path / "a.parquet", tmp_path / "b.parquet")


def test_files_that_cannot_be_joined_or_found_are_refused(write, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(SourceError, match=r"a\.npy cannot be one of several files"):
        read(tmp_path / "a.npy", tmp_path / "a.npy")
    with pytest.raises(SourceError, match=r"no file .*\*\.tsv"):
        read(tmp_path / "*.tsv")
    assert len(read(write("x\n1\n", "[ab]*.csv")).values) == 1
