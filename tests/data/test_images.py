import os
import sys
import warnings

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.distance import pdist

import coterie
from coterie.data.images import column_names, read_images, rows_of_images
from coterie.data.pixels import read_pixels
from coterie.data.tables.image_folder import ImageFolder
from coterie.data.tables.table import SourceError
from coterie.frames.standard import fit_standard, robust_moments


def random_pixels(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save(folder, pixels):
    """One file for each of the images (n, h, w) or (n, h, w, colours), by number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"{number:03}.png")


@pytest.mark.parametrize(("shape", "columns"), [((9, 16, 16), 256), ((9, 16, 16, 3), 768)])
def test_rows_lie_as_far_apart_as_the_pixels(tmp_path, shape, columns):
    pixels = random_pixels(*shape)
    save(tmp_path, pixels)
    values = read_images(tmp_path).values
    assert values.shape == (9, columns)
    assert values.dtype == np.float32
    expected = pdist(pixels.reshape(9, -1).astype(float))
    np.testing.assert_allclose(pdist(values.astype(float)), expected, rtol=1e-5)


def test_all_columns_vary_alike_where_pixels_do_not(tmp_path):
    pixels = np.zeros((200, 16, 16), dtype=np.uint8)
    pixels[:, 4:12, 4:12] = random_pixels(200, 8, 8)
    pixels[0, 0, 0] = 9  # a pixel that has ink in one image only
    save(tmp_path, pixels)
    spread = robust_moments(read_images(tmp_path).values.astype(float)).spread
    assert spread.max() < 1.5 * spread.min()


def test_the_frame_of_a_set_of_images_is_that_of_their_pixels_in_one_unit(tmp_path):
    random = np.random.default_rng(3)
    parts = random.uniform(size=(4, 16, 16)) * [[[60]], [[40]], [[25]], [[15]]]
    weights = random.exponential(size=(150, 4))
    save(tmp_path, np.einsum("nk,kij->nij", weights, parts).clip(0, 255).astype(np.uint8))
    values = read_images(tmp_path).values.astype(float)
    found = fit_standard(values, 4)(values)
    centred = values - values.mean(0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:4].T
    for axis in range(4):
        assert abs(np.corrcoef(found[:, axis], scores[:, axis])[0, 1]) > 0.98


def test_gray_images_have_the_frame_of_the_same_images_in_colour(tmp_path):
    gray = random_pixels(40, 16, 16)
    save(tmp_path / "gray", gray)
    values = read_images(tmp_path / "gray").values
    in_colour = np.repeat(values, 3, axis=1)  # red, green and blue of each mixture
    one, other = (fit_standard(each.astype(float), 6) for each in (values, in_colour))
    np.testing.assert_allclose(one(values), other(in_colour), atol=1e-4)


def test_images_of_any_size_and_kind_become_rows_of_one_length(tmp_path):
    for name, mode, size in (
        ("a.png", "L", (8, 8)),
        ("b.jpg", "RGB", (300, 50)),
        ("c.gif", "P", (5, 90)),
        ("d.bmp", "1", (16, 16)),
        ("e.tif", "CMYK", (31, 17)),
        ("f.webp", "RGB", (1, 1)),
    ):
        Image.new(mode, size).save(tmp_path / name)
    images = read_images(tmp_path)
    assert images.names.tolist() == ["a.png", "b.jpg", "c.gif", "d.bmp", "e.tif", "f.webp"]
    assert np.isfinite(images.values).all()


def test_folders_in_the_folder_are_read_and_what_is_no_image_is_not(tmp_path):
    save(tmp_path / "b" / "deep", random_pixels(1, 4, 4))
    save(tmp_path / "a", random_pixels(2, 4, 4))
    (tmp_path / "a" / "notes.txt").write_text("no image")
    (tmp_path / "a" / "._000.png").write_bytes(b"what a Mac leaves behind")
    names = coterie.read_images(str(tmp_path)).names
    assert names.tolist() == ["a/000.png", "a/001.png", "b/deep/000.png"]


def test_what_is_transparent_is_white(tmp_path):
    Image.new("RGBA", (16, 16), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    Image.new("RGB", (16, 16), "white").save(tmp_path / "white.png")
    clear, white = read_images(tmp_path).values
    np.testing.assert_array_equal(clear, white)


def test_a_photograph_stands_upright(tmp_path):
    picture = Image.fromarray(random_pixels(16, 16))
    picture.save(tmp_path / "upright.png")
    lying, exif = picture.rotate(90), Image.Exif()
    exif[0x0112] = 6  # to be shown a quarter turned clockwise
    lying.save(tmp_path / "lying.png", exif=exif)
    lying, upright = read_images(tmp_path).values
    np.testing.assert_array_equal(lying, upright)


def test_sixteen_bits_are_not_cut_to_eight(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 4096, (5, 16, 16)).astype(np.uint16)
    save(tmp_path, pixels)
    expected = pdist(pixels.reshape(5, -1) * (255 / 65535))
    values = read_images(tmp_path).values.astype(float)
    np.testing.assert_allclose(pdist(values), expected, rtol=1e-5)


def test_columns_are_named():
    assert column_names(256)[::255] == ("mixture 1", "mixture 256")
    assert column_names(768)[:4] == (
        "mixture 1 red",
        "mixture 1 green",
        "mixture 1 blue",
        "mixture 2 red",
    )
    assert len(set(column_names(768))) == 768


@pytest.mark.parametrize("content", [b"", b"not an image", None])
def test_a_bad_image_is_told_by_name(tmp_path, content):
    save(tmp_path, random_pixels(3, 40, 40))
    damaged = tmp_path / "001.png"
    damaged.write_bytes(damaged.read_bytes()[:200] if content is None else content)
    with pytest.raises(SourceError, match=r"001\.png cannot be read as an image: "):
        read_images(tmp_path)


def test_pixels_that_are_no_numbers_are_told_by_name(tmp_path):
    Image.fromarray(np.full((16, 16), np.nan, dtype=np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(SourceError, match=r"a\.tif has pixels that are not finite"):
        read_images(tmp_path)


def test_pixels_that_would_overflow_are_told_by_name(tmp_path):
    Image.fromarray(np.full((16, 16), 1e38, dtype=np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(SourceError, match=r"a\.tif has pixels beyond 1e\+15"):
        read_images(tmp_path)


def test_large_images_are_read_in_silence(tmp_path, monkeypatch):
    save(tmp_path, random_pixels(1, 16, 16))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)  # beyond, Pillow warns; beyond 400 refuses
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_images(tmp_path).values) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_a_name_that_is_no_text_is_written_as_one(tmp_path):
    save(tmp_path, random_pixels(1, 16, 16))
    odd = tmp_path / os.fsdecode(b"caf\xe9.png")
    (tmp_path / "000.png").rename(odd)
    assert read_pixels(tmp_path, (1, 16, 16)).names == ["caf\\xe9.png"]
    source = ImageFolder(tmp_path, "odd")
    assert source.files == [odd]
    (batch,) = source.batches()
    assert batch.native.to_list() == ["caf\\xe9.png"]


def test_a_folder_without_images_and_none_at_all_are_refused(tmp_path):
    with pytest.raises(SourceError, match="is a folder without images"):
        read_images(tmp_path)
    with pytest.raises(SourceError, match=r"no folder .*absent"):
        read_images(tmp_path / "absent")


def test_without_pillow_the_extra_is_named(tmp_path, monkeypatch):
    save(tmp_path, random_pixels(1, 4, 4))
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ModuleNotFoundError, match=r"coterie\[images\]") as info:
        rows_of_images([tmp_path / "000.png"])
    assert info.value.name == "PIL"


def test_sixteen_bits_and_eight_show_the_same(tmp_path):
    eight = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    Image.fromarray(eight).save(tmp_path / "a.png")
    Image.fromarray(eight.astype(np.uint16) * 257).save(tmp_path / "b.png")
    one, other = read_images(tmp_path).values
    np.testing.assert_allclose(one, other, atol=1e-3)
