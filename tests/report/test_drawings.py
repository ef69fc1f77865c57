import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from coterie.palette import N_SHAPES, PALETTE
from coterie.report.drawings import (
    LEVELS,
    belief_bars,
    cluster_dots,
    distribution,
    dots,
    frame_of,
    histogram,
    marker,
    share_bars,
    sureness,
)
from coterie.report.numerals import Numeral, numeral_of


def test_the_frame_holds_all_places_and_y_goes_up():
    places = np.array([[0.0, 0.0], [10.0, 5.0], [5.0, 2.5]])
    pixels = frame_of(places, 120, 70, 10)(places)
    np.testing.assert_allclose(pixels, [[10, 60], [110, 10], [60, 35]])


def test_equal_places_lie_in_the_middle():
    np.testing.assert_allclose(
        frame_of(np.zeros((2, 2)), 100, 50)(np.zeros((2, 2))), [[50, 25]] * 2
    )


@pytest.mark.parametrize("shape", range(N_SHAPES))
def test_each_place_has_one_mark_of_its_shape(shape):
    drawn = ET.fromstring(dots(np.array([[1.0, 2.0], [30.25, 4.0]]), "#123456", 3.0, shape))
    assert re.findall(r"M(\S+) ([\d.]+)", drawn.get("d")) == [("1.0", "2.0"), ("30.2", "4.0")]
    assert drawn.get("fill" if shape else "stroke") == "#123456"


def test_shapes_differ():
    assert (
        len({dots(np.zeros((1, 2)), "#000", 3.0, shape) for shape in range(N_SHAPES)}) == N_SHAPES
    )


def test_sureness_goes_from_a_guess_to_certainty():
    assert sureness(np.array([0.25, 0.6, 1.0]), 4).tolist() == [0, 2, LEVELS - 1]
    assert sureness(np.array([1.0]), 1).tolist() == [LEVELS - 1]


def test_surer_points_are_stronger_and_colours_are_those_of_the_clusters():
    labels, levels = np.array([0, 0, 7]), np.array([0, LEVELS - 1, 2])
    drawn = [ET.fromstring(path) for path in cluster_dots(np.zeros((3, 2)), labels, levels, 2.0)]
    assert [path.get("data-cluster") for path in drawn] == ["0", "0", "7"]
    assert [path.get("stroke") or path.get("fill") for path in drawn] == [
        PALETTE[0],
        PALETTE[0],
        PALETTE[1],
    ]
    assert (
        float(drawn[0].get("opacity"))
        < float(drawn[2].get("opacity"))
        < float(drawn[1].get("opacity"))
    )


def test_the_histogram_counts_every_point():
    values = np.array([0.31, 0.52, 0.97, 0.98, 1.0, 1.0])
    drawn = ET.fromstring(histogram(values))
    counts = [int(text.text) for text in drawn.iter("text") if text.get("class") == "count"]
    assert counts == [1, 1, 4]
    ticks = [text.text for text in drawn.iter("text") if text.get("class") == "tick"]
    assert (ticks[0], ticks[-1]) == ("0.30", "1.00")


@pytest.mark.parametrize("value", [0.0, 3.0, 1e300])
def test_distributions_of_a_single_value_are_drawn(value):
    values = np.full(5, value)
    assert "nan" not in distribution(values, values[:2], 0, numeral_of(values))


def test_a_distribution_stands_where_its_values_are():
    drawn = ET.fromstring(distribution(np.full(50, 1.0), np.linspace(0, 1, 500), 3, Numeral(2)))
    rest, inside = (path.get("d") for path in drawn.iter("path"))
    heights = [float(top) for top in re.findall(r"V([\d.]+)H", inside)]
    assert np.argmin(heights) == len(heights) - 1
    assert rest != inside


def test_a_marker_is_hidden_from_those_who_listen():
    assert 'aria-hidden="true"' in marker(2)


def test_noise_is_of_one_strength():
    pixels, levels = np.ones((3, 2)), np.array([0, 0, LEVELS - 1])
    paths = [
        ET.fromstring(path) for path in cluster_dots(pixels, np.array([-1, 0, 0]), levels, 2.0)
    ]
    assert [path.get("opacity") for path in paths] == ["0.50", "0.20", "0.90"]
    assert [path.get("data-cluster") for path in paths] == ["-1", "0", "0"]


def test_whole_numbers_have_equal_bins():
    """Bins of unequal numbers of values would look like a comb."""
    values = np.repeat(np.arange(21.0), 50)
    drawn = ET.fromstring(distribution(values, values[:2], 0, numeral_of(values)))
    _, inside = (path.get("d") for path in drawn.iter("path"))
    heights = {float(top) for top in re.findall(r"V([\d.]+)H", inside)}
    assert len(heights) <= 2  # equal, but for an empty one at the end


def test_shares_are_bars_as_long_as_they_say():
    bars = list(ET.fromstring(share_bars(0.8, 0.2, 1)).iter("rect"))
    assert float(bars[0].get("width")) == pytest.approx(4 * float(bars[1].get("width")), rel=0.01)


def test_the_number_found_stands_out_among_the_bars():
    drawn = ET.fromstring(belief_bars([2, 3, 4], [0.1, 0.7, 0.2], 3))
    kinds = [bar.get("class") for bar in drawn.iter("rect")]
    assert kinds == ["bar", "bar found", "bar"]
    counts = [text.text for text in drawn.iter("text") if text.get("class") == "count"]
    assert counts == ["10", "70", "20"]


def test_maps_are_true_to_scale():
    places = np.array([[0.0, 0.0], [10.0, 1.0]])
    frame = frame_of(places, 120, 120, 10, stretch=2.0)
    (x0, y0), (x1, y1) = frame(places)
    assert (x1 - x0) / 10 == pytest.approx((y0 - y1) / 2)
