import sys

import numpy as np
import pytest

from coterie.bench import memory
from coterie.bench.memory import meter

MIB = 2**20


@pytest.mark.skipif(not memory.STATUS.is_file(), reason="the peak can be reset on Linux alone")
def test_the_peak_is_that_of_the_work_and_counts_what_was_freed():
    np.ones(64 * MIB // 8)  # a higher peak before must not count
    watch = meter("cpu")
    held = np.ones(32 * MIB // 8)
    del held
    assert 30 * MIB < watch.peak() < 60 * MIB


def test_without_proc_the_peak_of_the_process_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "nothing")
    monkeypatch.setattr(memory, "FORGET_PEAK", tmp_path / "no folder" / "nothing")
    assert meter("cpu").peak() >= 0
    assert memory._lifetime_peak() > sys.getsizeof(object())
