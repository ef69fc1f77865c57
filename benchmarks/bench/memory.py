"""The most memory that was in use at a time, beyond what was in use before."""

import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import torch

STATUS = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")


class Meter(Protocol):
    """Starts when it is made."""

    def peak(self) -> int:
        """Bytes in use at the worst moment since the start, less those at the start."""


def meter(device: str) -> Meter:
    """The meter of the memory that a computation on the device takes."""
    return HostMeter() if torch.device(device).type == "cpu" else DeviceMeter(device)


class HostMeter:
    """The resident memory of this process.

    Linux tells the peak of this program in its status and can be asked to forget it. What
    getrusage tells elsewhere is the peak since the process began: right only where the measured
    work takes more than anything before it.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            FORGET_PEAK.write_text("5")
        self._before = _status("VmRSS") or _lifetime_peak()

    def peak(self) -> int:
        return max(0, (_status("VmHWM") or _lifetime_peak()) - self._before)


class DeviceMeter:
    """What torch has handed out on a GPU, without what it keeps in reserve."""

    def __init__(self, device: str) -> None:
        self._device = device
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        self._before = torch.cuda.memory_allocated(device)

    def peak(self) -> int:
        torch.cuda.synchronize(self._device)
        return torch.cuda.max_memory_allocated(self._device) - self._before


def _status(field: str) -> int | None:
    """A field of proc(5)'s status in bytes, None where the system does not say."""
    if not STATUS.is_file():
        return None
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    return None


def _lifetime_peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
