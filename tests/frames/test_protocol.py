import numpy as np
import pytest

from coterie.frames.fitting import fit_frame
from coterie.frames.protocol import FramedTable


def table(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, columns)) * np.arange(1, columns + 1)


@pytest.mark.parametrize("kind", ["plain", "standard"])
@pytest.mark.parametrize("columns", [1, 3, 5])
@pytest.mark.parametrize("rows", [slice(4, 9), np.array([7, 2, 2])])
def test_a_framed_table_brings_the_rows_of_the_frame(columns, rows, kind):
    x = table(30, columns)
    whole = fit_frame(x, 3, kind)
    framed = FramedTable(x, whole)
    assert len(framed) == 30
    np.testing.assert_allclose(framed[rows], whole(x)[rows], rtol=1e-5)


def test_a_framed_table_reads_only_what_is_asked_for():
    x = table(30, 2)
    framed = FramedTable(x, fit_frame(x, 2, "plain"))
    x[9:] = np.nan
    assert np.isfinite(framed[:9]).all()


def test_a_framed_table_maps_only_what_is_asked_for():
    shown = []

    def frame(rows):
        shown.append(len(rows))
        return rows.astype(np.float32)

    framed = FramedTable(table(30, 2), frame)
    assert shown == []
    assert framed[:9].shape == (9, 2)
    assert framed[np.array([3, 3])].shape == (2, 2)
    assert shown == [9, 2]
