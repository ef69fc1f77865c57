"""The peak of memory use, relative to the start of the measurement."""

import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import torch

STATUS = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")


class Meter(Protocol):
    """Starts when it is created."""

    def peak(self) -> int:
        """The peak number of bytes in use since the start, minus those at the start."""


def meter(device: str) -> Meter:
    """The meter of memory use on the device."""
    return HostMeter() if torch.device(device).type == "cpu" else DeviceMeter(device)


class HostMeter:
    """The resident memory of this process.

    Linux reports the peak of this process in its status and can reset it. Elsewhere getrusage gives
    the peak since the process began, which is right only if the measured work uses more than
    anything before it.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            FORGET_PEAK.write_text("5")
        self._before = _status("VmRSS") or _lifetime_peak()

    def peak(self) -> int:
        return max(0, (_status("VmHWM") or _lifetime_peak()) - self._before)


class DeviceMeter:
    """The memory allocated by torch on a GPU, without its cached reserve."""

    def __init__(self, device: str) -> None:
        self._device = device
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        self._before = torch.cuda.memory_allocated(device)

    def peak(self) -> int:
        torch.cuda.synchronize(self._device)
        return torch.cuda.max_memory_allocated(self._device) - self._before


def _status(field: str) -> int | None:
    """A field of proc(5)'s status in bytes, None if it is not available."""
    if not STATUS.is_file():
        return None
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    return None


def _lifetime_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
