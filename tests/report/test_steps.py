import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from coterie.report import steps as module
from coterie.report.steps import steps_section


def panels(content):
    return ET.fromstring(steps_section(content)).findall(".//figure")


def words(figure):
    return " ".join(figure.find("figcaption").itertext())


def test_each_step_has_a_picture_and_so_has_the_outcome(content):
    steps = content.clustering.steps
    figures = panels(content)
    assert len(figures) == len(steps) + 1
    for number, (step, figure) in enumerate(zip(steps, figures, strict=False)):
        said = words(figure)
        assert said.startswith(f"Step {number + 1}")
        assert f"takes {len(step.claimed)} of {len(step.offered)}" in said
        earlier, offered, joined = (path.get("d").count("M") for path in figure.iter("path"))
        assert joined == len(step.claimed)
        assert offered == len(step.offered) - len(step.claimed)
        assert earlier == 300 - len(step.offered)
    assert words(figures[-1]) == "Outcome 3 clusters"


def test_of_many_steps_the_largest_are_shown_in_their_order(content, monkeypatch):
    monkeypatch.setattr(module, "MAX_PANELS", 2)
    shown = [words(figure) for figure in panels(content)]
    assert len(shown) == 3
    assert "2 largest of 3 steps" in steps_section(content)


def test_a_revision_is_told(content):
    merged = replace(
        content.clustering,
        labels=np.zeros(300, dtype=np.intp),
        probabilities=np.ones((300, 1)),
    )
    said = steps_section(replace(content, clustering=replace(merged, expected_agreement=None)))
    assert "The 3 proposals became 1 cluster by consolidation or constraints." in said
    said = steps_section(replace(content, clustering=replace(merged, expected_agreement=0.8)))
    assert "Its 3 proposals competed with" in said
    assert "the answer has 1 cluster." in said
    for untouched in ("became", "competed"):
        assert untouched not in steps_section(content)


def test_of_many_points_some_are_drawn(content, monkeypatch):
    monkeypatch.setattr(module, "MAX_POINTS", 40)
    for figure in panels(content):
        assert sum(path.get("d").count("M") for path in figure.iter("path")) == 40


def test_steps_that_became_noise_are_drawn(noisy):
    steps = noisy.clustering.steps
    ended = [noisy.clustering.fate(step) for step in steps]
    assert -1 in ended  # what took a stray alone
    assert len(panels(noisy)) == min(len(steps), module.MAX_PANELS) + 1


def test_counts_of_a_sample_are_explained(content):
    """A step takes some of the rows that the network reads, which need not be all."""
    first, *_ = content.clustering.steps
    kept = np.arange(0, 300, 2)
    part = replace(first, claimed=kept[:60], offered=kept, probabilities=np.ones(150, np.float32))
    sampled = replace(content, clustering=replace(content.clustering, steps=(part,)))
    said = steps_section(sampled)
    assert "It reads 150 of the 300 rows, a sample, and the counts below are of these" in said
    assert "takes 60 of 150" in said
    assert "a sample" not in steps_section(content)
