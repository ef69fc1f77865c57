import json

import pytest

import curves

FAST = [{"step": 250, "ari": 0.4, "k_mae": 1.0}, {"step": 500, "ari": 0.9, "k_mae": 0.2}]
SLOW = [{"step": 250, "ari": 0.1, "k_mae": 2.0}, {"step": 500, "ari": 0.3, "k_mae": 1.5}]


def results(**found):
    names = ["study-amcp-base", "study-amcp-seed", "study-amcp-dac"]
    return {
        "studies": [
            {"name": "coupling", "recipes": ["study-amcp-uncoupled"]},
            {"name": "curves", "recipes": names},
        ],
        "recipes": {
            f"study-amcp-{name}": {"training": {"curve": curve}} for name, curve in found.items()
        },
    }


def test_each_network_has_a_line_for_each_score():
    figure = curves.plot_curves({"fast": FAST, "slow": SLOW})
    ari, k_mae = figure.axes
    assert (ari.get_title(loc="left"), k_mae.get_title(loc="left")) == ("ARI", "k-MAE")
    for axes, score in ((ari, "ari"), (k_mae, "k_mae")):
        for line, curve in zip(axes.get_lines(), (FAST, SLOW), strict=True):
            assert [*line.get_xdata()] == [250, 500]
            assert [*line.get_ydata()] == [point[score] for point in curve]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["fast", "slow"]


def test_networks_differ_in_colour():
    figure = curves.plot_curves({"fast": FAST, "slow": SLOW})
    first, second = figure.axes[0].get_lines()
    assert first.get_color() != second.get_color()


def test_curves_are_those_of_their_study_and_the_rest_is_missing():
    found, missing = curves.curves_of(results(base=FAST, uncoupled=SLOW, seed=[]))
    assert found == {"AMCP from anchors": FAST}
    assert missing == ["AMCP from a seed", "DAC"]


def test_the_picture_names_what_is_missing():
    figure = curves.plot_curves({"fast": FAST}, missing=["DAC"])
    assert figure.legends[0].get_title().get_text() == "not trained: DAC"


def test_the_picture_is_written(tmp_path):
    source, picture = tmp_path / "studies.json", tmp_path / "images/curves.png"
    source.write_text(json.dumps(results(base=FAST, dac=SLOW)))
    curves.main(source, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_anything_to_draw_it_says_so(tmp_path):
    source = tmp_path / "studies.json"
    with pytest.raises(SystemExit, match="run python benchmarks studies"):
        curves.main(source, tmp_path / "curves.png")
    source.write_text(json.dumps(results(base=[])))
    with pytest.raises(SystemExit, match="no training curve"):
        curves.main(source, tmp_path / "curves.png")
