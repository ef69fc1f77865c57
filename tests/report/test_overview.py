import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from coterie.palette import colour_of
from coterie.report import hover as module
from coterie.report.numerals import ticks
from coterie.report.overview import _numbers, map_section


def hover(section):
    (text,) = re.findall(r'<script type="application/json" id="rows">(.*?)</script>', section)
    return json.loads(text)


def test_the_section_is_sound_markup(content):
    ET.fromstring(map_section(content))


def test_every_point_is_drawn_and_told(content):
    section = map_section(content)
    drawn = ET.fromstring(section).find(".//*[@class='points']")
    assert sum(path.get("d").count("M") for path in drawn) == 300
    data = hover(section)
    assert data["row"] == list(range(1, 301))
    assert data["cluster"] == content.clustering.labels.tolist()
    assert [column["name"] for column in data["columns"]] == ["who", "width", "height"]
    assert data["columns"][0]["cells"][41] == "point 41"
    assert float(data["columns"][1]["cells"][41]) == pytest.approx(content.points[41, 0], rel=1e-5)


def test_the_places_told_are_those_drawn(content):
    section = map_section(content)
    data = hover(section)
    drawn = ET.fromstring(section).find(".//*[@class='points']")
    places = {place for path in drawn for place in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d"))}
    assert places == {(f"{x:.1f}", f"{y:.1f}") for x, y in zip(data["x"], data["y"], strict=True)}


def test_sizes_stand_beside_the_map(content):
    body = ET.fromstring(map_section(content)).find(".//tbody")
    rows = [[cell.text for cell in row.findall("td")] for row in body]
    assert [row[:2] for row in rows] == [["150", "50.0%"], ["100", "33.3%"], ["50", "16.7%"]]
    means = [
        content.confidence[content.clustering.labels == cluster].mean() for cluster in range(3)
    ]
    assert [row[-1] for row in rows] == [f"{mean:.2f}" for mean in means]


def test_no_two_numbers_are_read_as_one():
    random = np.random.default_rng(0)
    pixels, labels = random.normal((300, 200), 30, (400, 2)), np.repeat(np.arange(8), 50)
    drawn = [ET.fromstring(number) for number in _numbers(pixels, labels)]
    places = np.array([[float(each.get("x")), float(each.get("y")) - 5] for each in drawn])
    for place, cluster in zip(places, range(8), strict=True):
        assert abs(pixels[labels == cluster] - place).max(1).min() <= 0.06
    apart = abs(places[:, None] - places)[np.triu_indices(8, 1)]
    assert ((apart[:, 0] >= 21.8) | (apart[:, 1] >= 15.8)).all()


def test_axes_without_a_name_have_no_arrow(content):
    assert "→" in map_section(content)
    assert "→" not in map_section(replace(content, plane=content.plane._replace(axes=("", ""))))


def test_a_number_stands_in_its_cluster_where_no_place_is_free():
    drawn = [ET.fromstring(each) for each in _numbers(np.zeros((4, 2)), np.arange(4) % 2)]
    assert [each.get("x") for each in drawn] == ["0.0", "0.0"]


def test_what_is_told_stays_within_its_limit(content, monkeypatch):
    monkeypatch.setattr(module, "MAX_HOVER_CHARACTERS", 7000)
    section = map_section(replace(content, details={"who": ["<" * 10] * 300, "b": ["x"] * 300}))
    assert hover(section)["columns"] == []
    section = map_section(replace(content, details={"b": ["x"] * 300}))
    assert [column["name"] for column in hover(section)["columns"]] == ["b", "width"]
    assert "without 1 further columns" in section


def test_ticks_are_round_and_inside():
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(-0.7, 0.6, 3) == [-0.5, 0, 0.5]
    assert "-0.0" not in map(str, ticks(-0.7, 0.6, 3))
    assert ticks(3, 3) == [3]
    assert all(1e-9 <= tick <= 7e-9 for tick in ticks(1e-9, 7e-9))
    assert len(ticks(1e-9, 7e-9)) > 2


def test_noise_is_grey_and_named(noisy):
    section = map_section(noisy)
    drawing = ET.fromstring(section)
    (grey,) = drawing.findall(".//*[@class='points']/*[@data-cluster='-1']")
    assert grey.get("stroke") == colour_of(-1)
    assert grey.get("d").count("M") == 3
    last = drawing.findall(".//tbody/tr")[-1]
    assert "".join(last.find("th").itertext()) == "noise"
    assert [cell.text for cell in last.findall("td")][:2] == ["3", "1.0%"]
    numbers = [number.text for number in drawing.find(".//*[@class='numbers']")]
    assert numbers == ["0", "1", "2"]
    assert hover(section)["cluster"][-3:] == [-1, -1, -1]


def test_without_noise_there_is_no_word_of_it(content):
    assert "noise" not in map_section(content)
