import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from coterie.report.content import Origin, gather
from coterie.report.heat import MAX_COLUMNS, heat_of, heat_section
from coterie.report.profile import cluster_medians


def made(k=3, d=40, n=50):
    """Clusters that differ in the first three columns alone, by 100 in the third."""
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(k), n)
    points = generator.normal(size=(k * n, d))
    points[:, 0] += 5 * labels
    points[:, 1] -= 5 * labels
    points[:, 2] += 100 * (labels == 1)
    return points, labels


def heat(points, labels):
    none = np.zeros(points.shape[1], dtype=bool)
    return heat_of(points, labels, cluster_medians(points, labels, none, labels.max() + 1), none)


def test_telling_columns_are_kept_and_medians_are_those_of_the_clusters():
    points, labels = made()
    found = heat(points, labels)
    assert len(found.columns) == MAX_COLUMNS
    assert {0, 1, 2} <= set(found.columns.tolist())
    for cluster in range(3):
        expected = np.median(points[labels == cluster][:, found.columns], axis=0)
        np.testing.assert_allclose(found.medians[cluster], expected)


def test_colours_are_balanced_and_faint_where_a_column_tells_nothing():
    points, labels = made(k=2, d=4)
    found = heat(points, labels)
    at = {int(column): place for place, column in enumerate(found.columns)}
    low, high = found.far[:, at[0]]
    assert low == pytest.approx(-high)
    assert high > 0.8
    assert abs(found.far[:, at[3]]).max() < 0.3


def test_columns_alike_stand_together():
    points, labels = made(d=12)
    points[:, 9] = points[:, 2] + 0.1 * points[:, 9]
    order = heat(points, labels).columns.tolist()
    assert abs(order.index(9) - order.index(2)) == 1


def test_units_do_not_matter():
    points, labels = made(d=6)
    plain, scaled = heat(points, labels), heat(1e6 * points, labels)
    assert plain.columns.tolist() == scaled.columns.tolist()
    np.testing.assert_allclose(plain.far, scaled.far)


def test_cells_hold_the_values_and_shares_of_categories(blobs, fitted):
    points = np.column_stack([1e4 * blobs.points, 0.3 * (fitted.labels_ == 2)])
    names = ("income", "height", "plan=gold")
    found = gather(fitted.clustering_, points, names, Origin("t", "c"))
    table = ET.fromstring(heat_section(found)).find(".//table")
    lines = {
        "".join(line.find("th").itertext()): [cell.text for cell in line.findall("td")]
        for line in table.find("tbody")
    }
    assert lines["plan = gold"] == ["0%", "0%", "100%"]
    medians = [np.median(points[fitted.labels_ == k, 0]) for k in range(3)]
    assert lines["income"] == [f"{median:,.0f}" for median in medians]


def test_many_clusters_are_lines_and_one_has_no_map(content):
    k = 30
    labels = np.repeat(np.arange(k), 10)
    points = np.random.default_rng(0).normal(size=(300, 300)) + labels[:, None]
    many = replace(content.clustering, labels=labels, probabilities=np.eye(k)[labels], steps=())
    found = gather(many, points, tuple(f"c{j}" for j in range(300)), Origin("t", "c"))
    section = heat_section(found)
    assert len(ET.fromstring(section).findall(".//tbody/tr")) == k
    assert "Of 300 columns, the 16 that separate the clusters best" in section
    one = replace(content.clustering, labels=np.zeros(300, int), probabilities=np.ones((300, 1)))
    assert heat_section(replace(content, clustering=one)) is None


def test_noise_has_no_part_in_it(noisy):
    table = ET.fromstring(heat_section(noisy)).find(".//table")
    assert len(table.findall(".//thead//th")) == 3
