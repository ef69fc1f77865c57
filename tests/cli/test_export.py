import sys

import pytest
from typer.testing import CliRunner

from coterie.cli.app import app


def export(*arguments):
    return CliRunner().invoke(app, ["export", "onnx", *map(str, arguments)])


def refused(result):
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def written(monkeypatch):
    """What was asked of the exporter, which is slow and has tests of its own."""
    from coterie.export.onnx import Exported

    asked = []

    def write(weights, folder):
        asked.append((weights, folder))
        return Exported(folder / "encoder.onnx", folder / "step.onnx")

    monkeypatch.setattr("coterie.export.onnx.export_onnx", write)
    return asked


def test_the_graphs_go_where_they_are_wanted(written, tmp_path):
    result = export("amcp-mog2d", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert written == [("amcp-mog2d", tmp_path)]
    assert result.stdout.splitlines() == [
        f"encoder  {tmp_path}/encoder.onnx",
        f"step     {tmp_path}/step.onnx",
    ]


def test_the_folder_is_named_after_the_model(written):
    export("runs/mine.safetensors")
    assert str(written[0][1]) == "mine-onnx"


def test_another_system_is_refused_in_one_line(tmp_path):
    assert "only amcp and act_st are exported" in refused(export("dac-mog2d", "--out", tmp_path))


def test_an_unknown_model_is_refused(tmp_path):
    assert "no model 'amcp-nonsense'" in refused(export("amcp-nonsense", "--out", tmp_path))


def test_a_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert "pip install 'coterie[onnx]'" in refused(export("amcp-mog2d", "--out", tmp_path))
