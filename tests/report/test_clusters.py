import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from coterie.report.clusters import clusters_section
from coterie.report.content import Origin, gather


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
    assert "differ most" not in clusters_section(one)


def test_small_distributions_have_values_on_their_axes(content):
    (first, *_) = ET.fromstring(clusters_section(content)).findall("article")
    drawing = first.find(".//*[@class='distribution']")
    ticks = [float(text.text) for text in drawing.iter("text")]
    assert len(ticks) >= 2
    values = content.points[:, content.profiles[0].differences[0].column]
    assert values.min() <= min(ticks) < max(ticks) <= values.max()


def test_shares_count_all_rows_with_noise_among_them(noisy):
    shares = [
        card.find(".//small").text
        for card in ET.fromstring(clusters_section(noisy)).findall("article")
    ]
    assert [share.split(",")[1].strip() for share in shares] == ["49.5%", "33.0%", "16.5%"]


def test_categories_are_told_by_their_shares(blobs, fitted):
    points = np.column_stack([blobs.points, 0.48 * (fitted.labels_ == 1)])
    names = ("width", "height", "plan=gold")
    found = gather(fitted.clustering_, points, names, Origin("t", "c"))
    card = ET.fromstring(clusters_section(found)).findall("article")[1]
    said = {
        caption.find("b").text: " ".join(caption.itertext()) for caption in card.iter("figcaption")
    }
    assert said["plan = gold"].endswith("100% of its rows, elsewhere 0%")
    head, rows = table(card)
    assert {row[head.index("plan = gold")] for row in rows} == {"yes"}
