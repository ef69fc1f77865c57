"""Marks of the tools that make the site are never shown to its readers."""

import re
from html.parser import HTMLParser

import pytest
from page_code import ROOT

# What each tool reads: found in the text of a page, it was not read.
MARKS = {
    "include": re.compile(r"-{1,}8<-{1,}"),
    "comment": re.compile(r"<!--|-->"),
    "template": re.compile(r"\{%|%\}|\{\{|\}\}"),
    "admonition": re.compile(r"^\s*(!!!|\?\?\?\+?) \w+", re.MULTILINE),
    "API entry": re.compile(r"^\s*::: ?[\w.]+", re.MULTILINE),
    "attributes": re.compile(r"\{ ?[:.#][\w-]+[^}\n]*\}"),
    "equation": re.compile(r"\\[(\[]|\$\$"),
    "fence": re.compile(r"^\s*(```|~~~)", re.MULTILINE),
    "heading": re.compile(r"^#{1,6} \w", re.MULTILINE),
    "link": re.compile(r"\]\([\w./#-]+\)|\]\[[\w.]*\]"),
    "table": re.compile(r"^\s*\|?[ :]*-{3,}[ :]*\|", re.MULTILINE),
    "emphasis": re.compile(r"(?<![\w*])\*\*\w"),
}
# In code these are code: a heading is a comment, two asterisks are keyword arguments.
OUTSIDE_CODE = {"equation", "heading", "link", "emphasis", "template", "attributes"}
VOID = {"img", "br", "hr", "input", "link", "meta", "source", "wbr", "col", "path", "use"}


class Shown(HTMLParser):
    """The text of the article of a page, in and outside of code; comments are not shown."""

    def __init__(self):
        super().__init__()
        self.open, self.prose, self.code = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while tag in self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "article" not in self.open or {"script", "style", "svg"} & set(self.open):
            return
        (self.code if {"code", "pre"} & set(self.open) else self.prose).append(data)


def marks_in(page: str) -> list[str]:
    """The marks that a reader of the page would see, with what is around them."""
    shown = Shown()
    shown.feed(page)
    prose, code = "".join(shown.prose), "".join(shown.code)
    found = []
    for name, mark in MARKS.items():
        text = prose if name in OUTSIDE_CODE else f"{prose}\n{code}"
        found += [
            f"{name}: {text[max(hit.start() - 30, 0) : hit.end() + 30]!r}"
            for hit in mark.finditer(text)
        ]
    return found


def test_no_page_shows_a_mark(site):
    pages = sorted(site.glob("**/*.html"))
    assert len(pages) > 10
    seen = {page.name: marks_in(page.read_text()) for page in pages}
    assert {name: marks for name, marks in seen.items() if marks} == {}


def test_the_source_of_an_example_stands_where_its_page_names_it(site):
    assert "onnxruntime" in (site / "ecosystem.html").read_text().split("InferenceSession")[0]


def test_the_gallery_shows_what_every_example_drew(site):
    """The site is built only if all examples run."""
    examples = {path.stem for path in (ROOT / "examples").glob("plot_*.py")}
    pictures = [*(site / "images/gallery").glob("*.png")]
    assert {picture.stem for picture in pictures} == examples
    assert min(picture.stat().st_size for picture in pictures) > 10_000


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("include", '<code>--8&lt;-- "examples/without_torch.py"</code>'),
        ("comment", "<p>&lt;!-- source examples/x.py --&gt;</p>"),
        ("template", "<p>{% include 'x' %}</p>"),
        ("admonition", "<p>!!! warning</p>"),
        ("API entry", "<p>::: coterie.AMCP</p>"),
        ("attributes", "<p>words { .python }</p>"),
        ("equation", r"<p>\(x^2\)</p>"),
        ("fence", "<p>```python</p>"),
        ("heading", "<p>## A heading</p>"),
        ("link", "<p>[start](start.md)</p>"),
        ("table", "<p>|---|---|</p>"),
        ("emphasis", "<p>**bold**</p>"),
    ],
)
def test_a_mark_is_seen(name, shown):
    assert [mark.split(":")[0] for mark in marks_in(f"<article>{shown}</article>")][:1] == [name]


def test_code_may_look_like_marks():
    page = "<article><pre><code># comment\nf(**settings)\nx[a](b)\n{{}}</code></pre></article>"
    assert marks_in(page) == []
