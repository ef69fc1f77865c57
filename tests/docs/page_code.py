"""The Python of the pages: run block after block, and what it prints beside it.

A line `print(...)  # text` of a page says what it prints. `python tests/docs/page_code.py` runs the
pages and writes what they print today; the test holds that the pages say it.
"""

import ast
import contextlib
import io
import os
import re
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted((ROOT / "docs/recipes").glob("*.md"))
    + [ROOT / "docs" / f"{name}.md" for name in ("coming_from", "confidence", "faq", "start")]
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAYS = re.compile(r"^(.*?)  # .*$")


def with_outputs(page: str) -> str:
    """The page with the output of each `print` beside it; names last from block to block."""
    names: dict[str, Any] = {"__name__": "__page__"}

    def run(found: re.Match[str]) -> str:
        return f"```python\n{_run(found[1], names)}```"

    with TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the pages tell of the warnings that matter
        return BLOCK.sub(run, page)


def _run(code: str, names: dict[str, Any]) -> str:
    """Run a block, statement by statement; gives it with what the prints said."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        last = (statement.end_lineno or 1) - 1
        source = "\n".join(lines[statement.lineno - 1 : last + 1])
        with contextlib.redirect_stdout(io.StringIO()) as told:
            exec(compile(source, "<page>", "exec"), names)
        said = SAYS.match(lines[last])
        if said and source.startswith("print("):
            lines[last] = f"{said[1]}  # {' '.join(told.getvalue().split())}"
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    for path in chosen:
        text = path.read_text()
        told = with_outputs(text)
        path.write_text(told)
        print(path.name, "changed" if told != text else "as it was")
