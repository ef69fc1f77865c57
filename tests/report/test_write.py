"""The report of a model, as its users get it."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans

import coterie
from coterie.report.write import as_read, write_report


def test_a_model_gets_its_report(fitted, blobs, tmp_path):
    path = write_report(fitted, blobs.points, tmp_path / "new" / "report.html", title="blobs")
    page = path.read_text()
    assert "3 clusters in blobs" in page
    assert "model = coterie.AMCP().fit(X)" in page
    assert coterie.write_report is write_report


def test_names_come_from_a_frame_or_are_given(fitted, blobs, tmp_path):
    path = tmp_path / "report.html"
    for frame in (
        pd.DataFrame(blobs.points, columns=["wide", "tall"]),
        pl.DataFrame(blobs.points, schema=["wide", "tall"]),
    ):
        assert "by wide, tall" in write_report(fitted, frame, path).read_text()
    assert "by a, b" in write_report(fitted, blobs.points, path, names=["a", "b"]).read_text()
    assert "by x1, x2" in write_report(fitted, blobs.points, path).read_text()


def test_details_are_shown_with_the_rows(fitted, blobs, tmp_path):
    who = [f"who {i}" for i in range(300)]
    page = write_report(fitted, blobs.points, tmp_path / "r.html", details={"who": who}).read_text()
    assert page.count("who 7") >= 1


def test_points_are_those_that_the_network_read(fitted, blobs):
    read = as_read(fitted, blobs.points)
    np.testing.assert_array_equal(read, fitted.fitted_.frame(blobs.points))
    assert read.shape == (300, 16)
    assert as_read(KMeans(3), blobs.points) is None  # another's model does not tell


def test_the_same_fit_makes_the_same_page(fitted, blobs, tmp_path):
    pages = [write_report(fitted, blobs.points, tmp_path / "r.html").read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]


def test_what_does_not_fit_together_is_refused(fitted, blobs, tmp_path):
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="the 300 rows of the fit"):
        write_report(fitted, blobs.points[:10], path)
    with pytest.raises(ValueError, match=r"X has shape \(300, 1\), the fit had 2 columns"):
        write_report(fitted, blobs.points[:, :1], path)
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        write_report(fitted, blobs.points, path, names=["a"])
    with pytest.raises(ValueError, match="'who' has 2 cells for 300 rows"):
        write_report(fitted, blobs.points, path, details={"who": ["a", "b"]})
    assert not path.exists()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_tiny_tables_have_a_report_too(n, d, tmp_path):
    points = np.random.default_rng(0).normal(size=(n, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = coterie.AMCP().fit(points)
    assert "nan" not in write_report(model, points, tmp_path / "r.html").read_text().lower()


def test_ten_thousand_points_of_many_columns_stay_below_five_megabytes(tmp_path):
    generator = np.random.default_rng(0)
    points = generator.normal(size=(10_000, 2)) * 0.25 + generator.choice([-3, 0, 3], (10_000, 2))
    wide = np.hstack([points, generator.normal(size=(10_000, 60)) * 1e-3])
    with pytest.warns(UserWarning, match="principal components"):
        model = coterie.AMCP(weights="amcp-mog2d-wide").fit(wide)
    long = ["<&>" * 30] * 10_000
    path = write_report(model, wide, tmp_path / "r.html", details={f"t{i}": long for i in range(9)})
    assert path.stat().st_size < 5_000_000


def test_categories_of_a_frame_are_columns_of_their_own(blobs, tmp_path):
    frame = pd.DataFrame(blobs.points, columns=["wide", "tall"])
    frame["kind"] = pd.Categorical(np.array(["red", "blue", "green"])[blobs.labels])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = coterie.AMCP().fit(frame)
    page = write_report(model, frame, tmp_path / "report.html").read_text()
    assert "kind = red" in page
