"""Tests of one group run in one process: what they share is set up once."""

import pytest


@pytest.mark.xdist_group("grouped")
def test_groups_are_heeded(request):
    if not hasattr(request.config, "workerinput"):
        pytest.skip("one process runs all tests")
    assert request.node.nodeid.endswith("@grouped")
