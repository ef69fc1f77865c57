import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import coterie
from coterie.report.content import Origin
from coterie.report.numerals import Numeral
from coterie.report.page import render

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Tags(HTMLParser):
    """The elements of a page and the addresses it names, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.names, self.addresses = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.addresses += [value for key, value in attributes if key in ("src", "href", "action")]


def test_the_page_says_what_was_found_and_how_to_do_it_again(content):
    page = render(content)
    assert page.startswith("<!doctype html>")
    assert "<h1>3 clusters</h1>" in page
    assert "in 300 rows of <b>blobs.csv</b>" in page
    assert "<code>coterie cluster blobs.csv</code>" in page
    assert f"coterie {coterie.__version__}" in page
    for library in ("numpy", "scikit-learn", "torch"):
        assert re.search(rf"{library} \d", page)


def test_the_page_needs_nothing_else(content):
    page = render(content)
    tags = Tags(page)
    assert tags.addresses == []
    assert tags.names.count("script") == 2
    assert not {"link", "iframe", "img"} & set(tags.names)
    assert "url(" not in page
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"/>', page)
    assert "http" not in page.replace(policy[0], "")
    allowed = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["img-src"] == "data:"
    assert allowed["script-src"].startswith("'sha256-")


def test_text_from_the_table_stays_text(content):
    rows = len(content.described)
    evil = replace(
        content,
        names=(EVIL, "height"),
        details={EVIL: [EVIL] * rows},
        plane=content.plane._replace(axes=(EVIL, EVIL)),
        origin=Origin(EVIL, EVIL, facts=((EVIL, EVIL),), notes=(EVIL,)),
    )
    page = render(evil)
    assert "<script>alert" not in page
    assert "<img" not in page
    tags = Tags(page)
    assert (
        tags.names == Tags(render(replace(evil, origin=replace(evil.origin, notes=("x",))))).names
    )
    assert tags.names.count("script") == 2
    assert "alert(1)" in page


def test_the_page_is_sound_markup(content):
    page = render(content).removeprefix("<!doctype html>")
    page = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", page, flags=re.S)
    ET.fromstring(page)


def test_warnings_stand_at_the_top(content):
    origin = replace(content.origin, notes=("data unlike the training",), n_rows=1_000_000)
    page = render(replace(content, origin=origin))
    assert page.index("data unlike the training") < page.index("<h2>Map")
    assert "The figures describe a sample of 300 of 1,000,000 rows. Sizes count all rows." in page
    assert "<aside" not in render(content)


def test_a_page_with_noise_is_sound(noisy):
    page = render(noisy)
    assert "<h1>3 clusters</h1>" in page
    assert "in 303 rows of <b>strays.csv</b>" in page


def test_the_heading_names_a_category_once(content):
    indicators = (Numeral(0, share=True),) * 2
    page = render(replace(content, names=("plan=gold", "plan=basic"), numerals=indicators))
    assert ">by plan<" in page
