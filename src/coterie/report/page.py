"""The page around the sections, as one self-contained file."""

import base64
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import coterie
from coterie.report.certainty import certainty_section
from coterie.report.clusters import clusters_section
from coterie.report.content import Content
from coterie.report.heat import heat_section
from coterie.report.markup import Html, element, join
from coterie.report.overview import map_section
from coterie.report.sentences import subject
from coterie.report.steps import steps_section
from coterie.report.summary import summary_section

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("map.js", "naming.js", "downloads.js")
MAX_LISTED = 6  # columns in the heading
DECIDING = ("numpy", "scikit-learn", "torch")


def render(content: Content) -> str:
    """The whole page."""
    k = content.clustering.n_clusters
    script = "".join(_asset(name) for name in SCRIPTS)
    found = f"{k:,} {'cluster' if k == 1 else 'clusters'}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"coterie {coterie.__version__}"),
        element("title", f"{found} in {content.origin.title}"),
        element("style", Html(_asset("report.css"))),
    )
    body = element(
        "body",
        _header(content, found),
        element(
            "main",
            summary_section(content),
            _notes(content),
            map_section(content),
            heat_section(content),
            clusters_section(content),
            certainty_section(content),
            steps_section(content) if content.clustering.steps else None,
            _again(content),
        ),
        element("script", Html(script)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _policy(script: str) -> str:
    """What a browser may do with the page: run this script alone, and ask for nothing.

    Should markup ever slip in from a table, it could neither run nor reach anybody.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = ("img-src data:", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'")
    return "; ".join(("default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"))


def _header(content: Content, found: str) -> Html:
    n_rows = content.origin.n_rows or len(content.points)
    rows = "images" if content.pictures else "rows"
    pairs = zip(content.names, content.numerals, strict=True)
    columns = list(dict.fromkeys(subject(name, numeral) for name, numeral in pairs))
    more = len(columns) - MAX_LISTED
    words = ", ".join(columns[:MAX_LISTED]) + (f" and {more} more columns" if more > 0 else "")
    return element(
        "header",
        element("p", "coterie report", class_="kind"),
        element("h1", found),
        element("p", f"in {n_rows:,} {rows} of ", element("b", content.origin.title)),
        None if content.pictures else element("p", f"by {words}", class_="lead"),
    )


def _notes(content: Content) -> Html | None:
    notes = list(content.origin.notes)
    if content.origin.n_rows and content.origin.n_rows > len(content.points):
        notes.append(
            f"The figures describe a sample of {len(content.points):,} of"
            f" {content.origin.n_rows:,} rows. Sizes count all rows."
        )
    if not notes:
        return None
    return element(
        "aside",
        element("h2", "Notes"),
        element("ul", *(element("li", note) for note in notes)),
    )


def _again(content: Content) -> Html:
    """How to reproduce the report."""
    facts = [
        *content.origin.facts,
        ("number of the first row", str(content.origin.first_row)),
        ("versions", ", ".join(_versions())),
    ]
    likelihood = content.clustering.log_likelihood
    if likelihood is not None:
        facts.insert(len(facts) - 2, ("mean log-likelihood", f"{likelihood:.4f} per row"))
    listed = [join(element("dt", name), element("dd", value)) for name, value in facts]
    return element(
        "section",
        element("h2", "Reproduce this report"),
        element("pre", element("code", content.origin.command)),
        element("dl", *listed),
        class_="again",
    )


def _versions() -> list[str]:
    found = [f"coterie {coterie.__version__}", f"Python {platform.python_version()}"]
    for name in DECIDING:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
