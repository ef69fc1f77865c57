"""Checking a file before its network is built must not load parts of torch that nobody needs."""

import subprocess
import sys

import pytest

READ = """
import sys
from coterie.weights.catalogue import open_model
open_model({name!r})
print("sympy" in sys.modules)
"""


@pytest.mark.parametrize("name", ["amcp-mog2d", "dac-mog2d", "amcp-universal"])
def test_weights_are_read_without_the_compiler(name):
    """On the meta device, random numbers and ranges import the compiler, which takes a second."""
    command = [sys.executable, "-c", READ.format(name=name)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
