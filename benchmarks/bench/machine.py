"""The machine on which a benchmark was run, and its load."""

import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch

import coterie

CPU_INFO = Path("/proc/cpuinfo")
CPU_TIMES = Path("/proc/stat")
IDLE_FIELDS = (3, 4)  # idle and waiting for a disk, among the times of proc(5)
BUSY_FIELDS = 8  # those after it count guests a second time


class Stopwatch:
    """Measures the share of the machine that other processes used during a benchmark.

    On two busy cores, threads that wait for each other made our networks more than ten times
    slower: a timing is meaningless without this figure.
    """

    def __init__(self) -> None:
        self._wall, self._own, self._all = time.monotonic(), time.process_time(), _busy_seconds()

    def others_share(self) -> float | None:
        """The share of all cores' time used by other processes since the start; None if unknown."""
        busy = _busy_seconds()
        if self._all is None or busy is None:
            return None
        others = (busy - self._all) - (time.process_time() - self._own)
        available = (time.monotonic() - self._wall) * (os.cpu_count() or 1)
        return round(min(1.0, max(0.0, others / available)), 3) if available else None


def describe_machine() -> dict[str, Any]:
    """The machine and the versions that affect a timing, as JSON-compatible data."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "sklearn": sklearn.__version__,
        "coterie": coterie.__version__,
    }


def _cpu_model() -> str:
    if CPU_INFO.is_file():
        for line in CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _busy_seconds() -> float | None:
    """The busy time of all cores since the machine started."""
    if not CPU_TIMES.is_file():
        return None
    ticks = [int(field) for field in CPU_TIMES.read_text().split("\n", 1)[0].split()[1:]]
    busy = sum(tick for i, tick in enumerate(ticks[:BUSY_FIELDS]) if i not in IDLE_FIELDS)
    return busy / os.sysconf("SC_CLK_TCK")
