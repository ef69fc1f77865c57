"""Asking for a number of clusters, a range or noise; messages; the empty canvas."""

import csv
import io

import numpy as np
import pytest


def labels_of(visitor, method=None):
    rows = csv.DictReader(io.StringIO(visitor.download("Labels", method).decode()))
    return [int(row["cluster"]) for row in rows]


def labels_of_code(visitor, method=None):
    names = {}
    exec(visitor.download("Python", method).decode(), names)
    return names["labels"].tolist()


def test_exactly_so_many_clusters(visitor):
    page = visitor.page
    assert not page.locator("#k-low").is_visible()
    with visitor.clustering():
        page.get_by_text("Exactly").click()
    assert visitor.n_clusters == 3
    assert not page.locator("#k-high").is_visible()
    with visitor.clustering():
        page.fill("#k-low", "6")
    assert visitor.n_clusters == 6
    labels = labels_of(visitor)
    assert len(set(labels)) == 6
    assert labels_of_code(visitor) == labels
    with visitor.clustering():
        page.get_by_text("Infer k").click()
    assert visitor.n_clusters == 4


def test_a_range_of_clusters(visitor):
    page = visitor.page
    page.fill("#n", "300")
    page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    with visitor.clustering():
        page.get_by_text("Between").click()
    with visitor.clustering():
        page.fill("#k-high", "2")
    assert visitor.n_clusters in (2, 3)  # between 3 and 2 is between 2 and 3
    assert labels_of_code(visitor) == labels_of(visitor)


def questions(visitor):
    """What was asked of the server; a browser may fetch an icon at any time."""
    return [url for url in visitor.asked if "/api/" in url]


def test_a_number_that_is_none_is_marked_and_not_asked_for(visitor):
    page = visitor.page
    with visitor.clustering():
        page.get_by_text("Exactly").click()
    asked = questions(visitor)
    page.fill("#k-low", "0")
    assert page.get_attribute("#k-low", "aria-invalid") == "true"
    page.fill("#k-low", "")
    visitor.painted()
    assert questions(visitor) == asked
    with visitor.clustering():
        page.fill("#k-low", "2")
    assert page.get_attribute("#k-low", "aria-invalid") == "false"


def test_noise_is_shown_counted_and_taken_home(visitor):
    page = visitor.page
    blob = np.random.default_rng(0).normal(size=(120, 2)) * 0.2
    points = np.vstack([blob - 2, blob + 2, [[9.0, -9.0], [-9.0, 9.0]]])
    visitor.upload("noisy.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in points.tolist()))
    page.wait_for_selector('body[data-points="242"]')
    page.check("#methods input[value=hdbscan]")
    visitor.wait()
    before = visitor.pixels()
    page.check("#noise")
    visitor.wait()
    assert visitor.pixels() != before
    labels = labels_of(visitor, "hdbscan")
    assert labels[-2:] == [-1, -1]
    noise = sum(label < 0 for label in labels)
    assert f"{noise} noise" in visitor.panel("hdbscan").inner_text().replace("\n", " ")


def test_methods_say_what_they_cannot_be_asked(visitor):
    visitor.page.check("#methods input[value=hdbscan]")
    visitor.wait()
    visitor.page.get_by_text("Exactly").click()
    visitor.panel("hdbscan").get_by_text("does not take a number of clusters").wait_for()


def test_a_link_restores_what_was_asked(visit):
    first = visit()
    with first.clustering():
        first.page.get_by_text("Between").click()
    first.page.check("#noise")
    first.wait()
    second = visit(first.link().removeprefix(f"{first.address}/"))
    assert second.page.is_checked("[name=k-mode][value=between]")
    assert second.page.input_value("#k-low") == "3"
    assert second.page.input_value("#k-high") == "8"
    assert second.page.is_checked("#noise")
    assert labels_of(second) == labels_of(first)


@pytest.mark.parametrize("wanted", ["0", "x", "5-", "%00", "1-99999"])
def test_a_wish_that_is_none_is_ignored(visit, wanted):
    visitor = visit(
        f"#preset=mixture&k=2&overlap=0&n=100&seed=1&methods=amcp-mog2d&wanted={wanted}"
    )
    assert visitor.page.is_checked("[name=k-mode][value=infer]")
    assert visitor.n_clusters == 2


def test_a_message_stays_until_it_is_dismissed(visitor):
    page = visitor.page
    page.clock.install()
    visitor.upload("bad.csv", "a,b\nx,y\n")
    page.locator("#toast").wait_for()
    page.clock.fast_forward(600_000)
    assert page.locator("#toast").is_visible()
    page.click("#toast-close")
    assert not page.locator("#toast").is_visible()
    visitor.upload("bad.csv", "")
    page.locator("#toast").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("#toast").is_visible()


def test_the_empty_canvas_tells_what_to_do(visitor):
    hint = visitor.panel().locator(".hint")
    assert not hint.is_visible()
    visitor.clear()
    hint.wait_for()
    assert "Draw points here" in hint.inner_text()
    visitor.touch(0.5, 0.5)  # on the hint, which is in the middle
    hint.wait_for(state="hidden")
    assert visitor.n_points >= 12
