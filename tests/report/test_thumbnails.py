import base64
import io

import numpy as np
import pytest
from PIL import Image

import coterie
from coterie.report.thumbnails import SIDE, thumbnail, thumbnails
from coterie.report.write import write_report


def opened(address):
    kind, data = address.split(",")
    assert kind in ("data:image/png;base64", "data:image/jpeg;base64")
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "1", "P", "I;16", "F", "CMYK"])
def test_every_kind_of_image_has_a_small_copy(mode, tmp_path):
    ramp = np.linspace(0, 255, 200 * 100).reshape(100, 200).astype(np.uint8)
    image = Image.fromarray(ramp)
    image = Image.fromarray(ramp.astype(np.uint16) * 257) if mode == "I;16" else image.convert(mode)
    path = tmp_path / ("i.tif" if mode in ("F", "CMYK", "I;16") else "i.png")
    image.save(path)
    small = opened(thumbnail(path)).convert("L")
    assert small.size == (SIDE, SIDE // 2)
    pixels = np.asarray(small, dtype=float)
    assert pixels[-1].mean() > pixels[0].mean() + 100  # as bright as it was


def test_small_images_are_kept_as_they_are(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (8, 8), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "i.png")
    np.testing.assert_array_equal(
        np.asarray(opened(thumbnail(tmp_path / "i.png")).convert("L")), pixels
    )


def test_an_image_that_has_gone_is_left_out(tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "0.png")
    files = [tmp_path / "0.png", tmp_path / "1.png"]
    assert list(thumbnails(files, np.array([0, 1]))) == [0]


@pytest.fixture
def images(tmp_path, blobs):
    files = []
    for row, point in enumerate(blobs.points):
        files.append(tmp_path / f"{row}.png")
        Image.new("RGB", (6, 6), tuple(int(v) for v in (30 + 15 * point[0], 99, 9))).save(files[-1])
    return files


def test_a_report_on_images_shows_them_instead_of_columns(fitted, blobs, images, tmp_path):
    page = write_report(fitted, blobs.points, tmp_path / "r.html", images=images).read_text()
    assert "in 300 images of" in page
    assert page.count("<img ") >= 3 * 8 * 2  # in the summary and on the cards
    assert 'loading="lazy"' not in page  # they would be missing in print
    assert "Most typical" in page
    assert "The clusters side by side" not in page
    assert "median" not in page.split("<main>")[1].split("<script")[0]
    with pytest.raises(ValueError, match="2 images for 300 rows"):
        write_report(fitted, blobs.points, tmp_path / "r.html", images=images[:2])
    gone = [images[0], "gone.png", *images[2:]]
    with pytest.raises(ValueError, match=r"the image of row 1 is not a file: gone\.png"):
        write_report(fitted, blobs.points, tmp_path / "r.html", images=gone)


def test_the_least_certain_images_of_each_cluster_are_shown(blobs, images, tmp_path):
    points = np.array(blobs.points)
    points[:5] = (points[blobs.labels == 0].mean(0) + points[blobs.labels == 1].mean(0)) / 2
    model = coterie.AMCP(n_clusters=3).fit(points)
    page = write_report(model, points, tmp_path / "r.html", images=images).read_text()
    assert "Least certain" in page
