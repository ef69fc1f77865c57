import numpy as np
import pytest

from coterie.frames.fitting import fit_frame
from coterie.frames.plain import fit_plain
from coterie.frames.protocol import FRAMES, NUMERIC
from coterie.frames.standard import fit_standard


def table(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, columns)) * np.arange(1, columns + 1)


def test_the_plain_frame_is_the_plain_map():
    for columns in (1, 3, 5):
        x = table(30, columns)
        np.testing.assert_array_equal(fit_frame(x, 3, "plain")(x), fit_plain(x, 3)(x))


def test_the_standard_frame_is_the_standard_map():
    x = table(30, 5)
    np.testing.assert_array_equal(fit_frame(x, 3, "standard")(x), fit_standard(x, 3)(x))


def test_groups_reach_the_standard_map():
    x = np.concatenate([table(30, 2), np.eye(3)[np.arange(30) % 3]], 1)
    groups = np.array([NUMERIC, NUMERIC, 0, 0, 0])
    grouped = fit_frame(x, 4, "standard", groups=groups)(x)
    np.testing.assert_array_equal(grouped, fit_standard(x, 4, groups=groups)(x))
    assert not np.allclose(grouped, fit_standard(x, 4)(x))


@pytest.mark.parametrize("kind", ["minmax", "robust", "none", ""])
def test_an_unknown_frame_is_refused(kind):
    with pytest.raises(ValueError, match=f"unknown frame {kind!r}; known: 'plain', 'standard'"):
        fit_frame(table(30, 5), 3, kind)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_every_frame_gives_rows_of_the_width_in_float32(kind, columns):
    x = table(30, columns)
    mapped = fit_frame(x, 3, kind)(x)
    assert mapped.shape == (30, 3)
    assert mapped.dtype == np.float32
    assert np.isfinite(mapped).all()
