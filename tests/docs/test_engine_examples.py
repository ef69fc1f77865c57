"""The page on several machines shows the examples as they are."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["on_spark.py", "on_ray.py"])
def test_the_page_shows_the_example(name):
    page = (ROOT / "docs" / "more-than-one-machine.md").read_text()
    assert (ROOT / "examples" / name).read_text() in page
