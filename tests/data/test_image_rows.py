import numpy as np
import pytest

from coterie.data.image_rows import image_rows

IMAGE = (1, 8, 8)
DRAW = np.random.default_rng(0)
BYTES = (DRAW.random((5, 8, 8)) * 120).astype(np.uint8)


@pytest.mark.parametrize(
    "X",
    [
        BYTES,
        BYTES[:, None],
        BYTES[..., None],
        BYTES.reshape(5, 64),
        BYTES / 255,
        BYTES.astype(np.float64),
        BYTES.tolist(),
    ],
    ids=["bytes", "channel first", "channel last", "rows", "shares", "floats to 255", "lists"],
)
def test_the_same_images_in_any_form(X):
    rows, notes = image_rows(X, IMAGE)
    assert rows.dtype == np.float32
    assert np.allclose(rows, BYTES.reshape(5, 64) / 255, atol=1e-6)
    assert notes == ()


def test_pages_are_scaled_with_a_remark_and_thin_strokes_stay():
    page = np.zeros((1, 32, 32), dtype=bool)
    page[0, :, 13] = True
    rows, (note,) = image_rows(page, IMAGE)
    assert note == "images of 32 x 32 pixels are scaled to 8 x 8, which the network reads"
    small = rows.reshape(8, 8)
    assert small[:, 3].min() > 0.9
    assert small[:, [0, 1, 5, 6, 7]].max() == 0


def test_small_images_are_enlarged():
    rows, (note,) = image_rows(BYTES[:, :4, :4], IMAGE)
    assert rows.shape == (5, 64)
    assert "4 x 4" in note
    assert abs(rows.mean() - BYTES[:, :4, :4].mean() / 255) < 0.02


def test_dark_strokes_on_white_paper_stay_as_dark():
    page = np.ones((1, 32, 32))
    page[0, :, 13] = 0
    rows, _ = image_rows(page, IMAGE)
    assert rows.reshape(8, 8)[:, 3].max() < 0.1
    assert rows.reshape(8, 8)[:, [0, 1, 5, 6, 7]].min() == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 3, 8, 8)), r"read images of 1 channel, X has 3: .*make them grey"),
        (np.zeros((5, 8, 8, 3)), r"read images of 1 channel, X has 3: shape \(5, 8, 8, 3\)"),
        (np.zeros((5, 100)), r"64 numbers a row; X has 100"),
        (np.zeros(5), r"must be \(n, H, W\) or \(n, C, H, W\), got shape \(5,\)"),
        (np.zeros((0, 8, 8)), "at least one image"),
        (np.array(3.0), r"got shape \(\)"),
        (np.full((2, 8, 8), -1.0), "between 0 and 1 or 0 and 255, X has -1 to -1"),
        (np.full((2, 8, 8), 300), "X has 300 to 300"),
        (np.stack([np.zeros((8, 8)), np.full((8, 8), np.nan)]), "NaN or infinity: image 1"),
        (np.array([["a", "b"]]), "X must be an array of images"),
        (np.full((2, 8, 8), 1j), "X must be an array of images: its numbers are complex"),
        (np.array([[10**400, 1]]), "X must be an array of images: int too large"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(X, message):
    with pytest.raises(ValueError, match=message):
        image_rows(X, IMAGE)


def test_grey_images_for_a_network_of_colours_are_refused():
    with pytest.raises(ValueError, match=r"read images of 3 channels, X has 1.*repeat grey"):
        image_rows(BYTES, (3, 8, 8))
