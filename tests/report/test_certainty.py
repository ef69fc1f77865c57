import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from coterie.report.certainty import certainty_section


def table(root):
    head = [cell.text for cell in root.find(".//thead").iter("th")]
    rows = [["".join(cell.itertext()) for cell in row] for row in root.find(".//tbody")]
    return head, rows


def test_the_least_certain_rows_are_told_with_their_second_choice(content):
    probabilities = np.array(content.clustering.probabilities)
    labels = content.clustering.labels
    probabilities[7] = np.roll([0.55, 0.0, 0.45], labels[7])
    doubtful = replace(
        content,
        clustering=replace(content.clustering, probabilities=probabilities),
        confidence=probabilities[np.arange(300), labels],
        uncertain=np.array([7]),
    )
    head, rows = table(ET.fromstring(certainty_section(doubtful)))
    assert head[:5] == ["row", "confidence", "cluster", "second choice", "who"]
    second = str((labels[7] + 2) % 3)
    assert rows[0][:5] == ["8", "0.550", str(labels[7]), second, "point 7"]
    assert "below 0.9 for 0.3% of the rows" in certainty_section(doubtful)


def test_noise_is_neither_sure_nor_unsure(noisy):
    section = certainty_section(noisy)
    assert "3 rows are noise, without a cluster." in section
    assert "below 0.9 for 0.0% of the rows" in section
    assert (noisy.clustering.labels[noisy.uncertain] != -1).all()


def test_a_single_cluster_has_no_least_certain_rows(content):
    one = replace(
        content,
        clustering=replace(
            content.clustering,
            labels=np.zeros(300, dtype=np.intp),
            probabilities=np.ones((300, 1)),
        ),
        sizes=np.array([300]),
        confidence=np.ones(300),
        uncertain=np.arange(10),
    )
    section = certainty_section(one)
    assert "no row could belong to another" in section
    assert "1.000" not in section
    assert "<table" not in section


def test_rows_that_are_certain_are_not_called_the_least_certain(content):
    section = certainty_section(replace(content, uncertain=np.array([], dtype=np.intp)))
    assert "No row is uncertain" in section
    assert "Least certain" not in section
