import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from coterie.report.content import Origin, gather
from coterie.report.summary import summary_section
from coterie.report.trust import Trust

BELIEF = np.array([0, 0.05, 0.1, 0.65, 0.2])


def items(section):
    return [
        " ".join("".join(item.itertext()).split()) for item in ET.fromstring(section).iter("li")
    ]


def test_each_cluster_is_a_sentence_with_its_share(content):
    said = items(summary_section(content))
    assert len(said) == 3
    assert said[0].startswith("Cluster 0 (50% of rows): ")
    assert "higher height (5.0 against -2.0)" in said[2]


def test_noise_is_told_last(noisy):
    assert items(summary_section(noisy))[-1].startswith("Noise (1% of rows)")


def test_the_belief_stands_beside_with_what_to_ask_for(content):
    trust = Trust(BELIEF, expected_agreement=0.71, runner_up=2)
    origin = Origin("t", "c", option="--n-clusters {}")
    section = summary_section(replace(content, trust=trust, origin=origin))
    assert "3 clusters is the most probable number (65%), 4 has 20%." in section
    assert "Expected agreement with the true groups: 0.71" in section
    assert "<code>--n-clusters 2</code>" in section
    assert "How many" not in summary_section(replace(content, trust=Trust()))


def test_downloads_say_how_many_rows_they_hold(content):
    assert "the rows (CSV)" in summary_section(content)
    some = replace(content, origin=replace(content.origin, n_rows=1_000_000))
    assert "300 of 1,000,000 rows (CSV)" in summary_section(some)


def test_many_clusters_are_listed_up_to_a_limit(content):
    k = 45
    labels = np.arange(450) % k
    clustering = replace(
        content.clustering, labels=labels, probabilities=np.eye(k)[labels], steps=()
    )
    points = np.random.default_rng(0).normal(size=(450, 2)) + labels[:, None]
    found = gather(clustering, points, ("a", "b"), Origin("t", "c"))
    said = items(summary_section(found))
    assert len(said) == 41
    assert said[-1] == "5 smaller clusters are not listed."
