"""Advisory locks, which the system releases when their process ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None
LOCK = ".coterie.lock"


class InUseError(OSError):
    """A folder that another process writes to."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def is_linked(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def locked_folder(folder: Path, activity: str) -> Iterator[None]:
    """Let one process at a time do something in a folder, and refuse the others.

    The lock of a process that died is no lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    descriptor = _locked(path, activity)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked, so that nobody's lock is removed
        os.close(descriptor)


def _locked(path: Path, activity: str) -> int:
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        if not try_lock(descriptor):
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            process = f" (process {holder})" if holder else ""
            raise InUseError(
                f"another {activity}{process} is using the folder {path.parent}; wait until it ends"
                " or choose another folder"
            )
        if is_linked(descriptor, path):
            return descriptor
        os.close(descriptor)  # the holder before removed it in between
