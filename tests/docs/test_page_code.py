"""The code of the pages runs as it stands there, and prints what stands beside it."""

import pytest
from page_code import BLOCK, PAGES, with_outputs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_says(page):
    text = page.read_text()
    assert BLOCK.search(text)
    assert with_outputs(text) == text, "python tests/docs/page_code.py writes what it prints today"


def test_a_false_output_is_corrected():
    page = (
        "```python\nx = 2\nprint(x + 1)  # 4\n```\nwords\n```python\nprint(\n    x\n)  # 0\n```\n"
    )
    assert with_outputs(page) == page.replace("# 4", "# 3").replace("# 0", "# 2")


def test_a_block_that_fails_is_not_passed_over():
    with pytest.raises(ZeroDivisionError):
        with_outputs("```python\n1 / 0\n```\n")


def test_other_blocks_are_left_alone():
    page = "```\npip install coterie\n```\n"
    assert with_outputs(page) == page
