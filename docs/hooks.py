"""Build hooks of the site: equations as SVG, sources of examples, and the gallery, which is run."""

import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ziamath
from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
NUMBER = re.compile(r"\\qquad\s*\((\d+)\)\s*$")
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
GALLERY = "<!-- gallery -->"
# A comment, so that a page reads well as plain Markdown too.
SOURCE = re.compile(r"^<!-- source (\S+) -->$", re.MULTILINE)
MAX_HEIGHT = 10  # in letters: a taller equation was rendered wrongly

ziamath.config.svg2 = False  # for older browsers
ziamath.config.math.color = "currentColor"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the files that a page names where it names them."""
    return SOURCE.sub(lambda found: _source(ROOT / found[1]), markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Render every equation as inline SVG, which needs no script and no fonts.

    A figure and its standard error stay on one line.
    """
    return EQUATION.sub(_equation, content).replace(" ± ", "\u00a0±\u00a0")


def on_files(files: Any, config: Any) -> Any:
    """Run the examples and add their pictures and output to the gallery."""
    folder = Path(tempfile.mkdtemp(prefix="gallery-"))
    parts = []
    for script in sorted((ROOT / "examples").glob("plot_*.py")):
        picture = folder / f"{script.stem}.png"
        output = _run(script, picture)
        address = f"images/gallery/{picture.name}"
        files.append(File.generated(config, address, abs_src_path=str(picture)))
        parts.append(_entry(script, output, address))
    page = files.get_file_from_path("gallery.md")
    page.content_string = page.content_string.replace(GALLERY, "\n\n".join(parts))
    return files


def _run(script: Path, picture: Path) -> str:
    """Run an example, which draws its picture, and return its output."""
    command = [sys.executable, "-W", "ignore", str(script), picture.name]
    here = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, cwd=picture.parent, env=here, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{script.name} failed:\n{run.stderr}")
    return run.stdout.strip()


def _entry(script: Path, output: str, picture: str) -> str:
    """An example as Markdown: title, picture, output and source."""
    source = script.read_text()
    title = source.split('"""')[1].splitlines()[0].rstrip(".")
    return (
        f"## {title}\n\n![{title}]({picture})\n\n```text\n{output}\n```\n\n"
        f"<details markdown><summary>examples/{script.name}</summary>\n\n"
        f"{_source(script)}\n\n</details>"
    )


def _source(script: Path) -> str:
    """A Python file as a block of code."""
    return f"```python\n{script.read_text()}```"


def _equation(found: re.Match[str]) -> str:
    """One equation, with its number, if any, at the right."""
    tag, latex = found[1], html.unescape(found[2]).strip()
    if tag == "span":
        return _drawing(latex, inline=True)
    number = NUMBER.search(latex)
    drawing = _drawing(NUMBER.sub("", latex), inline=False)
    beside = f'<span class="equation-number">({number[1]})</span>' if number else ""
    return f'<div class="equation">{drawing}{beside}</div>'


def _drawing(latex: str, *, inline: bool) -> str:
    """LaTeX as SVG, sized relative to the text around it, with the source as its label."""
    letter = 16.0
    drawn = ziamath.Latex(latex, size=letter, inline=inline)
    width, height = (float(side) / letter for side in SIZE.search(drawn.svg()).groups())
    if height > MAX_HEIGHT:
        raise RuntimeError(f"equation of {height:.0f} letters in height: {latex}")
    style = f"width:{width:.3f}em;height:{height:.3f}em"
    if inline:
        style += f";vertical-align:{drawn.getyofst() / letter:.3f}em"
    label = html.escape(latex, quote=True)
    attributes = f'role="img" aria-label="{label}" style="{style}"'
    return SIZE.sub(lambda _: attributes, drawn.svg(), count=1)
