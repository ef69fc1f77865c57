import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.weights import catalogue
from coterie.weights.catalogue import models, open_model


def run(*arguments, width="160"):
    return CliRunner().invoke(app, ["models", *arguments], env={"COLUMNS": width})


def test_every_shipped_model_is_listed_with_its_size():
    result = run()
    assert result.exit_code == 0, result.output
    for model in models():
        (line,) = [line for line in result.stdout.splitlines() if model.name in line.split()]
        if model.reads_tables:
            parameters = sum(p.numel() for p in open_model(model.name)[0].parameters())
            assert f"{parameters:,}" in line.split()
        assert model.card.system in line.split()
        assert model.card.trained_on in line
    assert models()


def test_models_of_images_are_listed_with_the_size_of_an_image():
    (line,) = [line for line in run().stdout.splitlines() if "mice-mnist" in line.split()]
    assert "28x28" in line.split()
    (row,) = [row for row in json.loads(run("--json").stdout) if row["name"] == "mice-mnist"]
    assert row["columns"] is None
    assert row["images"] == [1, 28, 28]


def test_json_is_a_list_of_the_same():
    rows = json.loads(run("--json").stdout)
    assert [row["name"] for row in rows] == [model.name for model in models()]
    assert [row["bytes"] for row in rows] == [model.size for model in models()]
    assert all(row["parameters"] > 1000 for row in rows)


@pytest.mark.parametrize("width", ["80", "60"])
def test_names_and_numbers_are_whole_on_a_narrow_terminal(width):
    result = run(width=width)
    for row in json.loads(run("--json").stdout):
        assert row["name"] in result.stdout
        assert f"{row['parameters']:,}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= int(width)


def test_a_damaged_file_is_named_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    result = run()
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "broken.safetensors is damaged" in line


def test_a_full_disk_is_told_in_one_line():
    code = "from coterie.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", code, "models"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr) == (2, "coterie: No space left on device\n")
