"""A visitor of the page: somebody with a browser of their own."""

from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30_000
# What a picture has shown, in the order in which it showed it, so that nothing is missed by a
# test that looks too late.
HISTORY = """
  window.said = [];
  new MutationObserver((changes) => {
    for (const { target, attributeName } of changes)
      window.said.push(target.getAttribute(attributeName));
  }).observe(document, {
    subtree: true, attributes: true, attributeFilter: ["aria-label", "aria-valuetext"],
  });
"""


class Visitor:
    """The page, and what a visitor does with it."""

    def __init__(self, browser, address, **settings):
        settings = {
            "viewport": {"width": 1200, "height": 800},
            "reduced_motion": "reduce",
        } | settings
        self.context = browser.new_context(**settings)
        self.context.add_init_script(HISTORY)
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

    @contextmanager
    def clustering(self):
        """An action that makes the page ask for clusters, if not at once; until they are shown.

        `wait` alone would be satisfied before the page has begun to ask.
        """
        with self.page.expect_response("**/api/cluster**"):
            yield
        self.wait()

    def painted(self):
        """Until what was drawn last is on the canvas."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def until_said(self, word):
        self.page.wait_for_function(
            "(word) => window.said.some((text) => text?.includes(word))", arg=word
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

    def place(self, x=0.5, y=0.5):
        """A place on the canvas, in shares of its width and height, as a place on the screen."""
        canvas = self.panel().locator("canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def touch(self, x, y):
        """Press the mouse at a place on the canvas, and let go."""
        self.page.mouse.move(*self.place(x, y))
        self.page.mouse.down()
        self.page.mouse.up()

    def stroke(self, x, y, points=24):
        """Hold the brush at a place on the canvas until it has drawn so many points."""
        wanted = self.n_points + points
        self.page.mouse.move(*self.place(x, y))
        self.page.mouse.down()
        self.until_points(wanted)
        self.page.mouse.up()

    def until_points(self, wanted):
        self.page.wait_for_function(
            "(wanted) => Number(document.body.dataset.points) >= wanted", arg=wanted
        )

    def pixels(self):
        self.painted()
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
        return self.page.evaluate("() => location.href")
