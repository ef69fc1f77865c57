import json

import pytest

import calibration_picture

SURE = {"up_to": 1.0, "points": 900, "confidence": 0.98, "right": 0.9}
UNSURE = {"up_to": 0.6, "points": 100, "confidence": 0.55, "right": 0.6}
RARE = {"up_to": 0.4, "points": 99, "confidence": 0.35, "right": 1.0}


def test_each_family_has_a_line_of_the_bins_that_hold_enough():
    figure = calibration_picture.plot_reliability({"roads": [RARE, UNSURE, SURE], "all": [SURE]})
    ideal, roads, overall = figure.axes[0].get_lines()
    assert [*ideal.get_xdata()] == [*ideal.get_ydata()] == [0, 1]
    assert [*roads.get_xdata()] == [0.55, 0.98]
    assert [*roads.get_ydata()] == [0.6, 0.9]
    assert overall.get_linewidth() > roads.get_linewidth()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["roads", "all"]


def test_the_picture_is_written(tmp_path):
    source, picture = tmp_path / "calibration.json", tmp_path / "images/reliability.png"
    with pytest.raises(SystemExit, match="run python benchmarks calibration"):
        calibration_picture.main(source, picture)
    source.write_text(json.dumps({"models": {"mine": {"all": {"bins": [SURE]}}}}))
    calibration_picture.main(source, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
