"""The built site without a network, in a real browser: nothing is asked of other hosts."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

PATIENCE = 30_000  # milliseconds, for a busy machine
WORD, FOUND_IN = "Sinkhorn", "amcp.html"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serving(folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module", params=["server", "files"])
def home(request, site):
    """Where the site begins: at a server of this machine, or on its disk."""
    if request.param == "files":
        yield site.as_uri()
        return
    with serving(site) as address:
        yield address


@pytest.fixture
def visit(browser, home):
    """Open pages of the site, and note requests to other hosts and faults."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.left, page.faults = [], []

    def route(each):
        if each.request.url.startswith((home, "data:", "blob:", "about:")):
            each.continue_()
        else:
            page.left.append(each.request.url)
            each.abort("internetdisconnected")

    context.route("**/*", route)
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    yield page
    context.close()


def pages_of(site, home):
    """Every page; that for missing ones has addresses of a server."""
    names = sorted(str(page.relative_to(site)) for page in site.glob("**/*.html"))
    return [name for name in names if name != "404.html" or home.startswith("http")]


def search(page, word):
    """Search for a whole word, not for its first letters on the way; gives the first address."""
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.insert_text(word)
    page.keyboard.press("Shift")  # the page looks at its query when a key comes up
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    return first.get_attribute("href")


def test_every_page_opens_and_finds_words(site, home, visit):
    names = pages_of(site, home)
    assert len(names) > 10
    alike = {name.rpartition("/")[0]: name for name in names}  # of a folder all have one search
    assert len(alike) > 1
    for name in names if home.startswith("http") else alike.values():
        visit.goto(f"{home}/{name}")
        if name in alike.values():
            assert FOUND_IN in search(visit, WORD), name
        assert visit.evaluate("[...document.images].filter(i => !i.naturalWidth).length") == 0, name
    assert visit.left == []
    assert visit.faults == []


def test_a_result_leads_to_its_place(home, visit):
    visit.goto(f"{home}/index.html")
    search(visit, WORD)
    visit.locator(".md-search-result__link").first.click()
    visit.wait_for_url(f"{home}/{FOUND_IN}*")


def test_a_request_to_another_host_is_noticed(home, visit):
    """The test must be able to fail: `offline` of mkdocs-material once added such a script."""
    visit.goto(f"{home}/index.html")
    visit.evaluate("fetch('https://unpkg.com/iframe-worker/shim').catch(() => null)")
    assert visit.left == ["https://unpkg.com/iframe-worker/shim"]
