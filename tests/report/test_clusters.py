import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from coterie.report.clusters import certainty_section, clusters_section


def table(root):
    head = [cell.text for cell in root.find(".//thead").iter("th")]
    rows = [["".join(cell.itertext()) for cell in row] for row in root.find(".//tbody")]
    return head, rows


def test_each_cluster_has_a_card_with_its_columns_and_rows(content):
    cards = ET.fromstring(clusters_section(content)).findall("article")
    assert len(cards) == 3
    for profile, card in zip(content.profiles, cards, strict=True):
        said = " ".join(card.itertext())
        assert f"Cluster {profile.cluster}" in said
        names = [caption.find("b").text for caption in card.iter("figcaption")]
        assert names == [content.names[each.column] for each in profile.differences]
        head, rows = table(card)
        assert head == ["row", "who", *names]
        assert [row[0] for row in rows] == [f"{row + 1}" for row in profile.typical]
        assert [row[1] for row in rows] == [f"point {row}" for row in profile.typical]


def test_a_single_cluster_says_so(content):
    one = replace(
        content,
        clustering=replace(
            content.clustering,
            labels=np.zeros(300, dtype=np.intp),
            probabilities=np.ones((300, 1)),
        ),
        sizes=np.array([300]),
        confidence=np.ones(300),
        profiles=(content.profiles[0]._replace(differences=()),),
    )
    assert "It is the only cluster." in clusters_section(one)
    head, _ = table(ET.fromstring(certainty_section(one)))
    assert "second choice" not in head


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
    _, rows = table(ET.fromstring(section))
    assert {row[2] for row in rows} <= {"0", "1", "2"}
    shares = [
        card.find(".//small").text
        for card in ET.fromstring(clusters_section(noisy)).findall("article")
    ]
    assert [share.split(",")[1].strip() for share in shares] == ["49.5%", "33.0%", "16.5%"]
