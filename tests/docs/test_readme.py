"""The first screen of the README, and what it links to."""

import re

import pytest
from page_code import ROOT

README = (ROOT / "README.md").read_text()
FIRST_SCREEN = "\n".join(README.splitlines()[:50])
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_it_is_installed_before_anything_else():
    commands = re.findall(r"^```\w*\n(.*?)\n", README, re.MULTILINE)
    assert commands[0] == "pip install coterie"


def test_the_first_screen_says_when_to_take_something_else():
    for words in ("at its best", "**HDBSCAN**", "**k-means**", "**Gaussian mixture**"):
        assert words in FIRST_SCREEN


def test_there_is_one_table_of_results_with_at_most_five_rows():
    results = re.findall(r"<!-- results (\S+) -->\n(.*?)<!-- end -->", README, re.DOTALL)
    assert [name for name, _ in results] == ["summary"]
    assert results[0][1] in README[: README.index("## ")]
    rows = [line for line in results[0][1].splitlines() if line.startswith("|")]
    assert 3 <= len(rows) - 2 <= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    """mkdocs looks at those of the site; the README and plain Markdown have none to look."""
    for target in LINK.findall(page.read_text()):
        if "://" not in target and not target.startswith("images/gallery"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_plain_markdown_shows_no_include_marks(page):
    """Those who read the page in a checkout see what the site's tools would replace."""
    assert "8<--" not in page.read_text()
