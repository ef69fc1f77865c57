"""The page around the sections, as one self-contained file."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import coterie
from coterie.report.clusters import certainty_section, clusters_section
from coterie.report.content import Content
from coterie.report.markup import Html, element, join
from coterie.report.overview import map_section
from coterie.report.steps import steps_section

ASSETS = Path(__file__).parent / "assets"
DECIDING = ("numpy", "scikit-learn", "torch")


def render(content: Content) -> str:
    """The whole page."""
    k = content.clustering.n_clusters
    found = f"{k:,} {'cluster' if k == 1 else 'clusters'}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"coterie {coterie.__version__}"),
        element("title", f"{found} in {content.origin.title}"),
        element("style", Html(_asset("report.css"))),
    )
    body = element(
        "body",
        _header(content, found),
        _notes(content),
        element(
            "main",
            map_section(content),
            steps_section(content) if content.clustering.steps else None,
            clusters_section(content),
            certainty_section(content),
            _again(content),
        ),
        element("script", Html(_asset("report.js"))),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _header(content: Content, found: str) -> Html:
    n_rows = content.origin.n_rows or len(content.points)
    names = ", ".join(content.names[:6])
    more = len(content.names) - 6
    columns = f"{names} and {more} more columns" if more > 0 else names
    return element(
        "header",
        element("p", "coterie report", class_="kind"),
        element("h1", found),
        element("p", f"in {n_rows:,} rows of ", element("b", content.origin.title)),
        element("p", f"by {columns}", class_="lead"),
    )


def _notes(content: Content) -> Html | None:
    notes = list(content.origin.notes)
    if content.origin.n_rows and content.origin.n_rows > len(content.points):
        notes.append(
            f"The clusters were found on a sample of {len(content.points):,} of"
            f" {content.origin.n_rows:,} rows. Sizes count all rows; the figures show the sample."
        )
    if not notes:
        return None
    return element(
        "aside",
        element("h2", "Warnings"),
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
