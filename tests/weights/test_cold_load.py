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


FIT = """
import sys, warnings
import numpy as np
import coterie
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
coterie.AMCP("amcp-universal-small").fit(rng.normal(size=(60, 2)) + 9 * rng.integers(0, 2, (60, 1)))
print("sympy" in sys.modules)
"""


def test_sets_are_clustered_without_the_compiler():
    """Operators of `torch.library.custom_op` import it at their first call."""
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
