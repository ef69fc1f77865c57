"""What the tests of the package and of the benchmarks share."""

import os

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need the real data sets where there are none."""
    if item.get_closest_marker("data") and not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
