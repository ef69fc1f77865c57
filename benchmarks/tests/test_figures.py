import pytest

import render


@pytest.mark.parametrize("page", render.PAGES, ids=lambda page: page.name)
def test_the_page_says_what_the_results_say(page):
    text = page.read_text()
    assert render.MARKED.search(text)
    assert render.rendered(text) == text
