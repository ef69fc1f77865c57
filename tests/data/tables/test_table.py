import sys

import numpy as np
import pyarrow as pa
import pytest

from coterie.data.tables.table import LeftOut, Table, as_frame, polars, pyarrow
from coterie.frames.column_parts import Numbers
from coterie.frames.encoded_table import TableEncoding


def test_a_table_knows_whether_it_is_all_there_is():
    values, rows = np.zeros((2, 1)), np.arange(2)
    encoding = TableEncoding((Numbers(0.0),), ("x",), ("x",), np.array([-1]))
    assert not Table(("x",), values, 2, rows, encoding).is_sample
    assert Table(("x",), values, 3, rows, encoding).is_sample


def test_text_is_told_from_other_reasons():
    assert LeftOut("x", "text, 'a' in row 1").is_text
    assert not LeftOut("x", "excluded").is_text


def test_a_frame_has_the_names_it_is_given():
    batch = pa.record_batch([[1], [2]], names=["", "x"])
    assert as_frame(batch, ("", "x")).columns == ["", "x"]


@pytest.mark.parametrize(("library", "bring"), [("polars", polars), ("pyarrow", pyarrow)])
def test_a_library_that_is_not_there_is_named_with_its_extra(monkeypatch, library, bring):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=r"coterie\[io\]") as info:
        bring()
    assert info.value.name == library
