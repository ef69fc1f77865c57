"""The report in a real browser, as its readers open it."""

import re

import numpy as np
import pandas as pd
import pytest

from coterie.inference.result import Clustering
from coterie.report.content import Origin, gather
from coterie.report.trust import Trust
from coterie.report.write import save, write_report

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
PLACE = """row => {
  document.querySelector(".map").scrollIntoView({block: "center"});
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const i = rows.row.indexOf(row), m = document.querySelector(".map").getScreenCTM();
  return [rows.x[i] * m.a + m.e, rows.y[i] * m.d + m.f];
}"""

FIRST_OF = """cluster => {
  const rows = JSON.parse(document.getElementById("rows").textContent);
  return rows.row[rows.cluster.indexOf(cluster)];
}"""


@pytest.fixture
def visit(browser, fitted, blobs, tmp_path):
    """Opens the report, offline, and sees to it that nothing goes wrong in it."""
    details = {"who": [f"{EVIL} {i}" for i in range(300)]}
    report = write_report(fitted, blobs.points, tmp_path / "report.html", details=details)
    faults, contexts = [], []

    def visit(width=1200, path=report, **settings):
        context = browser.new_context(
            offline=True, viewport={"width": width, "height": 900}, **settings
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on(
            "request", lambda request: path.as_uri() == request.url or faults.append(request.url)
        )
        page.on("console", lambda message: faults.append(message.text))
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
    page.locator(".tip").wait_for()
    said = page.locator(".tip").inner_text().split("\n")
    assert said[0] == "row 42"
    assert said[said.index("who") + 1] == f"{EVIL} 42"[:47] + "…"
    assert float(said[said.index("x1") + 1]) == pytest.approx(blobs.points[42, 0], rel=1e-4)
    page.mouse.move(5, 5)
    page.locator(".tip").wait_for(state="hidden")


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
    picked.first.wait_for()
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
    assert not any(hint.is_visible() for hint in page.locator(".hint").all())
    assert page.locator("[data-download]").first.is_hidden()
    assert page.locator(".told li").count() == 3


def test_text_from_the_table_is_seen_as_text(visit):
    page = visit()
    assert page.locator("img").count() == 0
    assert page.locator("article").first.inner_text().count("<img src=x") == 5


def name_it(page, cluster, text, where=".told"):
    place = page.locator(f"{where} [data-name='{cluster}']")
    place.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def downloaded(page, kind, folder):
    with page.expect_download() as waiting:
        page.locator(f"[data-download='{kind}']").click()
    target = folder / f"downloaded {waiting.value.suggested_filename}"
    waiting.value.save_as(target)
    return target


def names_in(page, cluster):
    return {place.text_content() for place in page.locator(f"[data-name='{cluster}']").all()}


def test_a_name_given_in_the_page_is_shown_everywhere_and_stays_in_the_download(visit, tmp_path):
    page = visit()
    assert names_in(page, 1) == {"Cluster 1", "1"}
    name_it(page, 1, "Loyal <b>& old</b>")
    assert names_in(page, 1) == {"Loyal <b>& old</b>"}
    name_it(page, 0, "Young", where="h3")
    page.mouse.move(*page.evaluate(PLACE, int(page.evaluate(FIRST_OF, 0))))
    said = page.locator(".tip").inner_text().split("\n")
    assert said[said.index("cluster") + 1] == "Young"

    again = visit(path=downloaded(page, "page", tmp_path))
    assert names_in(again, 1) == {"Loyal <b>& old</b>"}
    assert names_in(again, 0) == {"Young"}
    assert names_in(again, 2) == {"Cluster 2", "2"}
    assert again.locator(".tip").is_hidden()
    name_it(again, 1, "Third")  # and can be changed again
    assert names_in(again, 1) == {"Third"}
    assert again.locator(".points path").count() == page.locator(".points path").count()


def test_the_downloaded_page_works_without_javascript(visit, tmp_path):
    page = visit()
    name_it(page, 2, "Rare")
    again = visit(path=downloaded(page, "page", tmp_path), java_script_enabled=False)
    assert names_in(again, 2) == {"Rare"}
    assert not again.locator(".told .name").first.get_attribute("contenteditable")
    assert again.locator("[data-download]").first.is_hidden()


def test_a_name_that_is_deleted_is_the_number_again(visit):
    page = visit()
    name_it(page, 1, "x")
    page.locator(".told [data-name='1']").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    assert names_in(page, 1) == {"Cluster 1", "1"}


def test_tables_are_downloaded_with_the_names(visit, tmp_path, blobs, fitted):
    page = visit()
    name_it(page, 0, '=2+2, "so"')
    clusters = pd.read_csv(downloaded(page, "clusters", tmp_path), keep_default_na=False)
    assert clusters["cluster"].tolist() == [0, 1, 2]
    assert clusters["rows"].tolist() == [150, 100, 50]
    assert clusters["name"].tolist() == ['\'=2+2, "so"', "", ""]  # not taken for a formula
    medians = [np.median(blobs.points[fitted.labels_ == k, 0]) for k in range(3)]
    np.testing.assert_allclose(clusters["median of x1"], medians, rtol=1e-6)
    rows = pd.read_csv(downloaded(page, "rows", tmp_path))
    assert rows["cluster"].tolist() == fitted.labels_.tolist()
    np.testing.assert_allclose(rows["x2"], blobs.points[:, 1], rtol=1e-5, atol=1e-6)
    assert rows["who"][7].startswith("<img src=x")


def test_the_page_is_dark_where_the_reader_wants_it_and_light_in_print(visit):
    ground = "getComputedStyle(document.body).backgroundColor"
    assert visit().evaluate(ground) == "rgb(255, 255, 255)"
    dark = visit(color_scheme="dark")
    assert max(map(int, re.findall(r"\d+", dark.evaluate(ground)))) < 60
    ink = dark.evaluate("getComputedStyle(document.body).color")
    assert min(map(int, re.findall(r"\d+", ink))) > 200
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate(ground) == "rgb(255, 255, 255)"


def test_markup_that_slips_into_the_page_is_not_run(visit, tmp_path):
    """The policy of the page holds even where escaping would fail."""
    page = visit()
    text = downloaded(page, "page", tmp_path).read_text()
    bad = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    path = tmp_path / "slipped.html"
    path.write_text(text.replace("<main>", f"<main>{bad}"))
    context = page.context.browser.new_context()
    other = context.new_page()
    other.goto(path.as_uri())
    assert other.title() == page.title()
    assert other.locator(".told .name").first.get_attribute("contenteditable")  # ours is run
    context.close()


def test_columns_that_look_like_scripts_are_seen_as_text(visit, fitted, blobs, tmp_path):
    formula = '=HYPERLINK("x")'
    details = {EVIL: [EVIL] * 300}
    path = write_report(
        fitted,
        blobs.points,
        tmp_path / "evil.html",
        names=[EVIL, formula],
        details=details,
        title=EVIL,
    )
    page = visit(path=path)
    name_it(page, 0, EVIL)
    assert page.locator("img").count() == 0
    assert EVIL[:30] in page.locator(".told").inner_text()
    again = visit(path=downloaded(page, "page", tmp_path))
    assert names_in(again, 0) == {EVIL[:60]}
    assert again.locator("img").count() == 0
    rows = downloaded(page, "rows", tmp_path).read_text(encoding="utf-8-sig").splitlines()
    assert f"'{formula}".replace('"', '""') in rows[0]


def made(k, d, n=600, noise=0):
    """The content of a report on k clusters of d columns, without a network."""
    random = np.random.default_rng(0)
    labels = np.sort(random.integers(0, k, n))
    labels[:k] = np.arange(k)
    labels[n - noise :] = -1
    points = random.normal(size=(n, d)) + random.normal(size=(k, d))[labels] * 4
    clustering = Clustering(labels, np.eye(k)[labels], None, ())
    names = tuple(f"a_column_with_a_long_name_{j}" for j in range(d))
    return gather(
        clustering, 10_000 * points, names, Origin("t", "c"), trust=Trust(np.eye(k + 3)[k])
    )


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize(
    "shape",
    [{"k": 1, "d": 3}, {"k": 30, "d": 4}, {"k": 3, "d": 300}, {"k": 5, "d": 2, "noise": 90}],
)
def test_reports_of_every_shape_fit_their_window(visit, tmp_path, shape, width):
    page = visit(width, path=save(made(**shape), tmp_path / "shape.html"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".told li[data-cluster]").count() == shape["k"]
    assert page.locator(".heat").count() == (shape["k"] > 1)


def test_pointing_at_noise_tells_that_it_is(browser, noisy, tmp_path):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(save(noisy, tmp_path / "noisy.html").as_uri())
    page.mouse.move(*page.evaluate(PLACE, 301))
    page.locator(".tip").wait_for()
    said = page.locator(".tip").inner_text().split("\n")
    assert said[0] == "row 301"
    assert said[said.index("cluster") + 1] == "none: noise"
    assert "confidence" not in said
    page.close()
