"""The report in a real browser, as its readers open it."""

import pytest

from coterie.report.write import save, write_report

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
PLACE = """row => {
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const i = rows.row.indexOf(row), m = document.querySelector(".map").getScreenCTM();
  return [rows.x[i] * m.a + m.e, rows.y[i] * m.d + m.f];
}"""


@pytest.fixture
def visit(browser, fitted, blobs, tmp_path):
    """Opens the report, offline, and sees to it that nothing goes wrong in it."""
    details = {"who": [f"{EVIL} {i}" for i in range(300)]}
    path = write_report(fitted, blobs.points, tmp_path / "report.html", details=details)
    faults, contexts = [], []

    def visit(width=1200, **settings):
        context = browser.new_context(
            offline=True, viewport={"width": width, "height": 900}, **settings
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("requestfailed", lambda request: faults.append(request.url))
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert faults == []


def test_pointing_at_a_point_tells_its_row(visit, blobs):
    page = visit()
    assert page.locator(".tip").is_hidden()
    page.mouse.move(*page.evaluate(PLACE, 42))
    said = page.locator(".tip").inner_text().split("\n")
    assert said[0] == "row 42"
    assert said[said.index("who") + 1] == f"{EVIL} 42"[:47] + "…"
    assert float(said[said.index("x1") + 1]) == pytest.approx(blobs.points[42, 0], rel=1e-4)
    page.mouse.move(5, 5)
    assert page.locator(".tip").is_hidden()


def test_the_keyboard_goes_from_point_to_point(visit, blobs):
    page = visit()
    page.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    leftmost = int(blobs.points[:, 0].argmin())
    assert page.locator(".tip b").inner_text() == f"row {leftmost}"
    page.keyboard.press("ArrowRight")
    assert page.locator(".tip b").inner_text() != f"row {leftmost}"
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_pointing_at_a_size_picks_out_the_cluster(visit):
    page = visit()
    page.locator(".sizes tr[data-cluster='1']").hover()
    picked = page.locator(".points .picked")
    assert {path.get_attribute("data-cluster") for path in picked.all()} == {"1"}


@pytest.mark.parametrize("width", [360, 820, 1600])
def test_no_page_is_wider_than_its_window(visit, width):
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_all_but_hovering_is_there(visit):
    page = visit(java_script_enabled=False)
    assert page.locator(".points path").count() >= 3
    assert page.locator("article").count() == 3
    assert page.locator(".histogram").is_visible()
    assert page.locator(".hint").is_hidden()


def test_text_from_the_table_is_seen_as_text(visit):
    page = visit()
    assert page.locator("img").count() == 0
    assert page.locator("article").first.inner_text().count("<img src=x") == 5


def test_pointing_at_noise_tells_that_it_is(browser, noisy, tmp_path):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(save(noisy, tmp_path / "noisy.html").as_uri())
    page.mouse.move(*page.evaluate(PLACE, 301))
    said = page.locator(".tip").inner_text().split("\n")
    assert said[0] == "row 301"
    assert said[said.index("cluster") + 1] == "none: noise"
    assert "confidence" not in said
    page.close()
