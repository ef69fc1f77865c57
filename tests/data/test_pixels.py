import numpy as np
import pytest
from PIL import Image

from coterie.data.pixels import read_pixels
from coterie.data.tables.table import SourceError


def test_images_become_pixels_of_one_shape(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5), dtype=np.uint8)
    (tmp_path / "in").mkdir()
    Image.fromarray(pixels).save(tmp_path / "in" / "b.png")
    Image.fromarray(np.stack([pixels] * 3, -1)).save(tmp_path / "c.png")
    Image.fromarray(pixels.astype(np.uint16) * 257).save(tmp_path / "a.png")
    grey = read_pixels(tmp_path, (1, 6, 5))
    assert grey.names == ["a.png", "c.png", "in/b.png"]
    assert grey.images.shape == (3, 1, 6, 5)
    for image in grey.images:
        np.testing.assert_allclose(image[0].astype(int), pixels.astype(int), atol=1)
    colour = read_pixels(tmp_path, (3, 6, 5))
    assert colour.images.shape == (3, 3, 6, 5)
    np.testing.assert_array_equal(colour.images[1, 2], pixels)
    assert read_pixels(tmp_path, (1, 12, 9)).images.shape == (3, 1, 12, 9)


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SourceError, match="is not a folder of images"):
        read_pixels(tmp_path / "nothing", (1, 8, 8))
    with pytest.raises(SourceError, match="a folder without images"):
        read_pixels(tmp_path, (1, 8, 8))
    Image.fromarray(np.full((4, 4), np.nan, dtype=np.float32)).save(tmp_path / "a.tiff")
    with pytest.raises(SourceError, match=r"a\.tiff has pixels that are not finite"):
        read_pixels(tmp_path, (1, 4, 4))
