"""The page in a real browser, as its visitors use it."""

import csv
import io
from contextlib import suppress

import numpy as np
import pytest
from sklearn.metrics import homogeneity_score


def test_the_first_look_is_a_clustered_mixture(visitor):
    assert visitor.n_points == 600
    assert visitor.n_clusters == 4
    assert "ARI 1.00" in visitor.panel().inner_text()


def test_drawn_clusters_are_found(visitor):
    visitor.clear()
    places = [(0.2, 0.2), (0.8, 0.25), (0.5, 0.8)]
    for x, y in places:
        visitor.stroke(x, y)
    visitor.wait()
    assert "ARI" not in visitor.panel().inner_text()
    rows = list(csv.DictReader(io.StringIO(visitor.download("Labels").decode())))
    assert len(rows) == visitor.n_points > 60
    points = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    middles = np.array([[16 * (x - 0.5), 12 * (0.5 - y)] for x, y in places])
    distance = np.linalg.norm(points[:, None] - middles, axis=2)
    assert distance.min(1).max() < 6 * 0.25  # the brush draws where the mouse is
    strokes = distance.argmin(1)
    assert homogeneity_score(strokes, [row["cluster"] for row in rows]) == pytest.approx(1)


def test_what_was_drawn_can_be_erased_and_taken_back(visitor):
    visitor.clear()
    visitor.stroke(0.3, 0.5)
    there = visitor.n_points
    visitor.page.keyboard.press("e")
    for x in np.linspace(0.2, 0.4, 9):
        visitor.touch(x, 0.5)
    assert visitor.n_points < there / 2
    while visitor.n_points < there:
        visitor.page.click("#undo")
    visitor.wait()
    assert visitor.n_points == there


def test_steps_are_replayed(visitor):
    page, outcome = visitor.page, visitor.pixels()
    slider = page.locator("#step")
    last = int(slider.get_attribute("max"))
    assert last >= 5
    pictures = []
    for step in range(last + 1):
        slider.fill(str(step))
        pictures.append(visitor.pixels())
    assert len(set(pictures)) == last + 1
    assert pictures[-1] == outcome
    slider.fill("1")
    assert page.inner_text("#step-name").startswith(f"step 1 of {last - 1}: takes ")
    page.keyboard.press(".")
    assert int(slider.input_value()) == 2


def test_playing_goes_on_until_it_is_paused(visitor):
    page, slider = visitor.page, visitor.page.locator("#step")
    page.clock.install()  # from here on the clock goes when it is told to
    page.clock.pause_at(page.evaluate("() => Date.now() + 1000"))
    slider.fill("1")
    page.click("#play")
    page.clock.run_for(1000)
    assert slider.input_value() == "2"
    page.click("#play")
    page.clock.run_for(5000)
    assert slider.input_value() == "2"
    page.click("#play")
    page.clock.run_for(60_000)
    assert page.inner_text("#step-name") == "outcome"
    assert page.get_attribute("#play", "aria-label") == "Play"


def test_the_clusters_appear_by_themselves_unless_motion_is_unwanted(visit):
    moving = visit(reduced_motion="no-preference")
    moving.until_said("Pause")
    moving.until_said("step 2 of ")
    assert visit().page.evaluate("() => window.said.includes('Pause')") is False


def test_presets_follow_their_sliders(visitor):
    page = visitor.page
    with visitor.clustering():
        page.click("[data-preset=moons]")
    assert not page.locator("#k").is_visible()
    page.click("[data-preset=mixture]")
    page.locator("#k").fill("2")
    page.locator("#n").fill("300")
    page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    assert visitor.n_clusters == 2


def test_methods_stand_side_by_side(visitor):
    visitor.page.check("#methods input[value=hdbscan]")
    visitor.page.check("#methods input[value=dac-mog2d]")
    visitor.wait()
    panels = visitor.page.locator(".panel")
    assert panels.count() == 3
    for text in panels.all_inner_texts():
        assert "4 clusters" in text.replace("\n", " ")
        assert "ARI 1.00" in text.replace("\n", " ")
        assert " ms" in text or " s" in text
    first, second = (panels.nth(i).bounding_box() for i in (0, 1))
    assert first["y"] == second["y"]


def test_labels_picture_and_code_can_be_taken_home(visitor):
    rows = list(csv.DictReader(io.StringIO(visitor.download("Labels").decode())))
    assert list(rows[0]) == ["x", "y", "cluster", "confidence"]
    assert len(rows) == 600
    labels = [int(row["cluster"]) for row in rows]
    assert len(set(labels)) == visitor.n_clusters

    picture = visitor.download("Picture")
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20]) == 1600

    names = {}
    exec(visitor.download("Python").decode(), names)
    np.testing.assert_array_equal(names["X"], [[float(r["x"]), float(r["y"])] for r in rows])
    assert names["labels"].tolist() == labels


def test_two_visitors_do_not_disturb_each_other(visit):
    one, other = visit(), visit("#preset=mixture&k=2&overlap=0&n=400&seed=1&methods=amcp-mog2d")
    one.clear()
    one.page.mouse.move(*one.place())
    one.page.mouse.down()
    with other.clustering():
        other.page.locator("#k").fill("3")
    one.page.mouse.up()
    one.wait()
    assert (other.n_points, other.n_clusters) == (400, 3)
    rows = list(csv.DictReader(io.StringIO(one.download("Labels").decode())))
    assert len(rows) == one.n_points >= 12
    drawn = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    assert np.linalg.norm(drawn, axis=1).max() < 6 * 0.25  # the own points, in the middle


def test_a_link_restores_points_methods_and_step(visit):
    first = visit()
    first.clear()
    for x, y in [(0.2, 0.3), (0.8, 0.6)]:
        first.stroke(x, y)
    first.page.check("#methods input[value=hdbscan]")
    first.wait()
    first.page.locator("#step").fill("1")
    link = first.link()
    second = visit(link.removeprefix(f"{first.address}/"))
    assert second.page.locator(".panel").count() == 2
    assert second.download("Labels") == first.download("Labels")
    second.page.wait_for_function("() => document.getElementById('step').value === '1'")
    assert "link" in first.page.inner_text("#toast")


@pytest.mark.parametrize("hash", ["#methods=amcp-mog2d&points=%%%", "#methods=&preset=nothing"])
def test_a_damaged_link_leaves_a_page_that_works(visit, hash):
    visitor = visit(hash)
    assert visitor.n_points > 0
    assert visitor.page.locator("#presets button").count() > 0


def test_an_answer_to_points_that_are_gone_is_dropped(visitor):
    """The answer is held back until its points have been replaced."""
    from playwright.sync_api import Error  # here, so that the file loads without playwright

    held = []
    visitor.page.route("**/api/cluster**", lambda route: held.append(route))
    visitor.page.click("#again")
    while not held:
        visitor.page.wait_for_timeout(20)
    visitor.clear()
    for route in held:
        with suppress(Error):  # the page has hung up
            route.fulfill(json={"method": "late", "labels": [0] * 600, "n_clusters": 1})
    visitor.wait()
    visitor.painted()
    assert visitor.n_points == visitor.n_clusters == 0


def test_a_server_that_refuses_is_quoted(visitor):
    refusal = {"status": 429, "json": {"detail": "the server is busy"}}
    visitor.page.route("**/api/cluster**", lambda route: route.fulfill(**refusal))
    visitor.page.click("#again")
    fault = visitor.panel().locator(".fault")
    fault.wait_for()
    assert fault.inner_text() == "the server is busy"


def test_the_keyboard_is_enough(visitor):
    visitor.clear()
    visitor.panel().locator("canvas").focus()
    visitor.page.keyboard.press("Enter")
    assert visitor.n_points == 12
    for _ in range(8):
        visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("d")
    visitor.page.keyboard.press("ArrowUp")
    visitor.page.keyboard.press("Enter")
    assert visitor.n_points == 25
    visitor.page.keyboard.press("Control+z")
    assert visitor.n_points == 24
