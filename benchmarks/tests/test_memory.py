import sys
from mmap import mmap

import pytest

from bench import memory
from bench.memory import meter

MIB = 2**20


def touch(mebibytes):
    """Use fresh pages and give them back; malloc might hand out pages that are resident already."""
    with mmap(-1, mebibytes * MIB) as pages:
        for start in range(0, len(pages), 4096):
            pages[start] = 1


@pytest.mark.skipif(not memory.STATUS.is_file(), reason="the peak can be reset on Linux alone")
def test_the_peak_is_that_of_the_work_and_counts_what_was_freed():
    touch(64)  # a higher peak before must not count
    watch = meter("cpu")
    touch(32)
    assert 30 * MIB < watch.peak() < 60 * MIB


def test_without_proc_the_peak_of_the_process_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "nothing")
    monkeypatch.setattr(memory, "FORGET_PEAK", tmp_path / "no folder" / "nothing")
    assert meter("cpu").peak() >= 0
    assert memory._lifetime_peak() > sys.getsizeof(object())
