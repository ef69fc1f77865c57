"""The page in a real browser, as its visitors use it."""

import csv
import io
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, homogeneity_score

PATIENCE = 20_000


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, browser, address, **settings):
        settings = {
            "viewport": {"width": 1200, "height": 800},
            "reduced_motion": "reduce",
        } | settings
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.faults, self.asked = [], []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.address = address

    def go(self, hash=""):
        self.page.goto(f"{self.address}/{hash}")
        self.wait()
        return self

    def wait(self):
        """Until every panel shows the points that are there now."""
        self.page.wait_for_function(
            """() => document.body.dataset.state === "done"
                && [...document.querySelectorAll(".panel")].every((panel) =>
                    (panel.dataset.points || "0") === document.body.dataset.points)"""
        )

    def panel(self, method=None):
        return self.page.locator(f'.panel[data-method="{method}"]' if method else ".panel").first

    @property
    def n_clusters(self):
        return int(self.panel().get_attribute("data-clusters") or 0)

    @property
    def n_points(self):
        return int(self.page.locator("body").get_attribute("data-points"))

    def clear(self):
        self.page.click("#clear")
        self.page.wait_for_selector('body[data-points="0"]')

    def stroke(self, x, y):
        """Hold the brush at a place on the canvas, in shares of its width and height."""
        box = self.panel().locator("canvas").bounding_box()
        place = box["x"] + x * box["width"], box["y"] + y * box["height"]
        self.page.mouse.move(*place)
        self.page.mouse.down()
        self.page.wait_for_timeout(250)
        self.page.mouse.up()

    def pixels(self):
        return self.panel().locator("canvas").evaluate("(canvas) => canvas.toDataURL()")

    def upload(self, name, text):
        file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
        self.page.set_input_files("#file", [file])

    def download(self, button, method=None):
        with self.page.expect_download() as waiting:
            self.panel(method).get_by_role("button", name=button).click()
        return Path(waiting.value.path()).read_bytes()

    def link(self):
        """The address once it holds what is shown."""
        self.page.click("#share")
        return self.page.url


@pytest.fixture
def visit(browser, address):
    visitors = []

    def enter(hash="", **settings):
        visitors.append(Visitor(browser, address, **settings))
        return visitors[-1].go(hash)

    yield enter
    for visitor in visitors:
        assert visitor.faults == []
        elsewhere = [url for url in visitor.asked if not url.startswith((address, "blob:"))]
        assert elsewhere == []
        visitor.context.close()


@pytest.fixture
def visitor(visit):
    return visit()


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
        visitor.stroke(x, 0.5)
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
        page.wait_for_timeout(50)
        pictures.append(visitor.pixels())
    assert len(set(pictures)) == last + 1
    assert pictures[-1] == outcome
    slider.fill("1")
    assert page.inner_text("#step-name").startswith(f"step 1 of {last - 1}: takes ")
    page.click("#play")
    page.wait_for_function("() => Number(document.getElementById('step').value) > 1")
    page.click("#play")
    paused = slider.input_value()
    page.wait_for_timeout(1100)
    assert slider.input_value() == paused
    page.keyboard.press(".")
    assert int(slider.input_value()) == int(paused) + 1


def test_the_clusters_appear_by_themselves_unless_motion_is_unwanted(visit):
    page = visit(reduced_motion="no-preference").page
    page.wait_for_function("() => document.getElementById('play').ariaLabel === 'Pause'")
    page.wait_for_function("() => Number(document.getElementById('step').value) >= 2")


def test_presets_follow_their_sliders(visitor):
    page = visitor.page
    page.click("[data-preset=moons]")
    visitor.wait()
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


def _late(route):
    """Answer half a second later, so that a page that shows a table before its truth is caught."""
    time.sleep(0.5)
    route.continue_()


def test_a_table_is_opened_and_its_truth_is_found(visitor, blobs):
    rows = zip(blobs.points.tolist(), blobs.labels, strict=True)
    text = "x,y,name,label\n" + "".join(f"{x},{y},row,{label}\n" for (x, y), label in rows)
    visitor.page.route("**/api/table?truth=label**", _late)
    visitor.upload("blobs.csv", text)
    visitor.page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    assert "blobs.csv: 300 rows, columns x, y" in visitor.page.inner_text("#table-note")
    assert visitor.page.input_value("#truth") == "label"
    with visitor.page.expect_response("**/api/cluster**"):
        visitor.page.select_option("#scale", "none")
    visitor.wait()
    visitor.panel().get_by_text("ARI 1.00").wait_for()
    assert visitor.n_clusters == 3


def test_gaps_of_a_table_are_said(visitor):
    visitor.upload("gappy.csv", "x,y\n" + "1,2\n3,4\n" * 20 + "5,\n")
    visitor.page.wait_for_selector('body[data-points="41"]')
    note = visitor.page.inner_text("#table-note")
    assert note.endswith("missing values filled with the median: 'y' (1 value)")


def test_a_wide_table_is_drawn_in_a_plane(visitor):
    generator = np.random.default_rng(0)
    values = np.repeat([[0.0] * 5, [8.0] * 5], 40, axis=0) + generator.normal(size=(80, 5)) * 0.2
    text = "a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in values)
    visitor.upload("wide.csv", text)
    visitor.page.wait_for_selector('body[data-points="80"]')
    visitor.wait()
    assert visitor.n_clusters >= 2
    assert visitor.page.locator("#tools input").first.is_disabled()
    restored = visitor.link()
    labels = _clusters(visitor.download("Labels"))
    visitor.go(restored.removeprefix(f"{visitor.address}/"))
    visitor.page.reload()
    visitor.wait()
    assert _clusters(visitor.download("Labels")) == labels


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\nx,y\n", "no numeric column"),
        ("", "is empty"),
        ("a,b\n1,2\n3\n", "Expected 2 columns"),
    ],
)
def test_a_bad_table_is_refused_and_the_points_stay(visitor, text, sentence):
    visitor.upload("bad.csv", text)
    toast = visitor.page.locator("#toast")
    toast.wait_for()
    assert toast.inner_text().startswith("bad.csv: ")
    assert sentence in toast.inner_text()
    assert visitor.n_points == 600
    assert visitor.n_clusters == 4


def test_a_table_can_be_dropped(visitor):
    visitor.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["x,y\\n0,0\\n0,1\\n9,9\\n9,8\\n"], "four.csv"));
          for (const name of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(name,
              { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }"""
    )
    visitor.page.wait_for_selector('body[data-points="4"]')
    assert not visitor.page.locator("#drop").is_visible()


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


def test_the_code_of_a_table_reads_the_file(visitor, blobs, tmp_path, monkeypatch):
    text = "x;y;label\n" + "".join(f"{x};{y};a\n" for x, y in blobs.points.tolist())
    visitor.upload("mine.csv", text)
    visitor.page.wait_for_selector('body[data-points="300"]')
    visitor.wait()
    visitor.page.check("#methods input[value=hdbscan]")
    visitor.wait()
    (tmp_path / "mine.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(visitor.download("Python", "hdbscan").decode(), names)
    lines = io.StringIO(visitor.download("Labels", "hdbscan").decode())
    rows = list(csv.DictReader(lines, delimiter=";"))
    assert list(rows[0]) == ["x", "y", "label", "cluster"]
    assert [float(row["x"]) for row in rows] == blobs.points[:, 0].tolist()  # not as scaled
    assert adjusted_rand_score(names["labels"], [row["cluster"] for row in rows]) == 1.0


def test_two_visitors_do_not_disturb_each_other(visit):
    one, other = visit(), visit("#preset=mixture&k=2&overlap=0&n=400&seed=1&methods=amcp-mog2d")
    one.clear()
    one.page.mouse.move(*_middle(one))
    one.page.mouse.down()
    other.page.locator("#k").fill("3")
    other.wait()
    one.page.wait_for_timeout(200)
    one.page.mouse.up()
    one.wait()
    other.wait()
    assert (other.n_points, other.n_clusters) == (400, 3)
    assert 12 <= one.n_points < 400
    assert one.n_clusters >= 1


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
def test_a_damaged_link_leaves_a_page_that_works(browser, address, hash):
    visitor = Visitor(browser, address)
    visitor.page.goto(f"{address}/{hash}")
    visitor.page.wait_for_selector("#presets button")
    visitor.page.wait_for_function("() => document.body.dataset.points > 0")
    assert visitor.faults == []
    visitor.context.close()


def test_an_answer_to_points_that_are_gone_is_dropped(visitor):
    """The answer is held back until its points have been replaced."""
    from playwright.sync_api import Error  # here, so that the file loads without playwright

    held = []
    visitor.page.route("**/api/cluster**", lambda route: held.append(route))
    visitor.page.click("#again")
    visitor.page.wait_for_function("() => document.body.dataset.state === 'asking'")
    while not held:
        visitor.page.wait_for_timeout(20)
    visitor.clear()
    for route in held:
        with suppress(Error):  # the page has hung up
            route.fulfill(json={"method": "late", "labels": [0] * 600, "n_clusters": 1})
    visitor.wait()
    visitor.page.wait_for_timeout(100)
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


def test_it_fits_a_phone_and_a_finger(visit):
    visitor = visit(viewport={"width": 375, "height": 720}, has_touch=True, is_mobile=True)
    width = visitor.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 375
    for button in visitor.page.locator("button:visible").all():
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
    before = visitor.n_points
    visitor.page.touchscreen.tap(*_middle(visitor))
    visitor.page.wait_for_function(f"() => Number(document.body.dataset.points) > {before}")


def _middle(visitor):
    box = visitor.panel().locator("canvas").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _clusters(labels):
    rows = csv.DictReader(io.StringIO(labels.decode()))
    return [(row["cluster"], row["confidence"]) for row in rows]
