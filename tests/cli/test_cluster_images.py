import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.metrics import accuracy
from reliability._small_systems import write_model, write_small

DIGITS = Path(__file__).parents[1] / "estimators" / "digits.npz"
ARGUMENTS = ("--weights", "mice-mnist")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="coterie")


def refused(result):
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS) as file:
        return file["images"][:60], file["labels"][:60]


@pytest.fixture(scope="module")
def folder(digits, tmp_path_factory):
    """Digits as image files; every third is larger and in colour."""
    path = tmp_path_factory.mktemp("digits") / "scans"
    path.mkdir()
    for number, pixels in enumerate(digits[0]):
        image = Image.fromarray(pixels)
        if number % 3 == 0:
            image = image.convert("RGB").resize((56, 56))
        image.save(path / f"{number:02}.png")
    return path


@pytest.fixture(scope="module")
def written(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    files = {"out": out / "c.csv", "report": out / "r.html", "save": out / "m.safetensors"}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    result = run("cluster", folder, *ARGUMENTS, "--n-clusters", 10, *options, "--json")
    assert result.exit_code == 0, result.output
    return {**files, "summary": json.loads(result.stdout)}


def test_the_images_of_a_folder_are_labelled(written, digits):
    rows = list(csv.DictReader(written["out"].read_text().splitlines()))
    assert [row["file"] for row in rows] == [f"{number:02}.png" for number in range(60)]
    assert list(rows[0]) == ["file", "cluster", "confidence"]
    assert accuracy(digits[1], np.array([int(row["cluster"]) for row in rows])) > 0.9
    summary = written["summary"]
    assert summary["rows"] == 60
    assert sum(cluster["size"] for cluster in summary["clusters"]) == 60
    assert summary["n_clusters"] == len(summary["clusters"])
    assert summary["labels"] == str(written["out"])


def test_the_report_shows_typical_and_doubtful_images(written):
    page = written["report"].read_text()
    k = written["summary"]["n_clusters"]
    assert page.count("Most typical") == k
    assert page.count("Least certain") >= 1
    assert page.count("data:image/") > 2 * k
    assert "17.png" in page
    assert "28 x 28 pixels, grey" in page
    assert "60 images" in page


def test_a_saved_model_is_weights_for_the_next_folder(written, folder, digits):
    again = run("cluster", folder, "--weights", written["save"], "--json")
    clusters = zip(
        json.loads(again.stdout)["clusters"], written["summary"]["clusters"], strict=True
    )
    for one, other in clusters:
        assert one == pytest.approx(other, abs=1e-5)
    assert accuracy(digits[1], coterie.load(written["save"]).predict(digits[0])) > 0.9
    line = refused(run("predict", folder, "--model", written["save"]))
    assert "is for images: coterie cluster FOLDER --weights" in line


def test_the_summary_is_for_people_and_labels_go_to_standard_output(folder):
    result = run("cluster", folder, *ARGUMENTS, "--out", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("file,cluster,confidence\n00.png,")
    assert "clusters in" in result.stderr
    assert "columns" not in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--noise"], "--noise does not apply to weights for images"),
        (["--min-cluster-size", "5"], "--min-cluster-size does not apply"),
        (["--columns", "a"], "--columns does not apply"),
        (["--n-clusters", "2:8"], "pass a number, not a range"),
        (["--n-clusters", "9"], "have 10 clusters, not n_clusters=9"),
        (["--out", "c.parquet"], "must end in .csv"),
        (["--report", "r.pdf"], "must end in .html"),
        (["--save", "m.coterie"], "must end in .safetensors"),
    ],
)
def test_what_does_not_apply_is_refused(folder, options, message):
    assert message in refused(run("cluster", folder, *ARGUMENTS, *options))


def test_what_is_no_folder_of_images_is_refused(tmp_path, folder):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert "is not a folder of images" in refused(
        run("cluster", tmp_path / "table.csv", *ARGUMENTS)
    )
    assert "without images" in refused(run("cluster", tmp_path, *ARGUMENTS))
    (tmp_path / "a.png").write_bytes(b"nothing")
    assert "a.png cannot be read" in refused(run("cluster", tmp_path, *ARGUMENTS))
    assert "one folder" in refused(run("cluster", folder, tmp_path, *ARGUMENTS))


def test_dark_writing_on_white_is_noted(digits, tmp_path):
    for number, pixels in enumerate(digits[0][:12]):
        Image.fromarray(255 - pixels).save(tmp_path / f"{number}.png")
    result = run("cluster", tmp_path, *ARGUMENTS)
    assert result.exit_code == 0
    assert "are dark and light swapped?" in " ".join(result.stdout.split())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tables_are_refused_by_weights_and_models_for_images(tmp_path):
    weights, model, table = (tmp_path / name for name in ("w.safetensors", "m", "t.csv"))
    write_small("amcp of images", weights)
    model.write_bytes(write_model("amcp of images", weights))
    table.write_text("a,b\n1,2\n3,5\n4,4\n9,1\n")
    assert "64 numbers a row; X has 2" in refused(run("cluster", table, "--weights", weights))
    line = refused(run("predict", table, "--model", model, "--out", tmp_path / "o.csv"))
    assert "is for images: in Python, coterie.load(" in line
