"""Files that appear whole or not at all, and what a killed process left of them."""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.files.locks import CAN_LOCK, is_linked, try_lock

PART = re.compile(r"\.coterie-[0-9a-f]{8}-")
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


@contextmanager
def replacing(target: Path, *, tidy: bool = True) -> Iterator[Path]:
    """A temporary path that replaces the target on success, so that there are no partial files.

    The path is in the folder of the target and has its extension; an empty file is there already.
    Special files, such as /dev/stdout, are written directly. tidy: remove what killed processes
    left in the folder; who writes many files there does so once.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not target.is_file():
        yield target
        return
    target = target.resolve()
    if tidy:
        remove_leftovers(target.parent)
    with _about(target):
        part, descriptor = _begin(target)
        try:
            yield part
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            os.fsync(descriptor)  # before the name changes: a power cut must not leave it empty
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
            os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that were killed: nobody holds their lock."""
    if not CAN_LOCK:
        return
    for path in folder.iterdir():
        if not PART.match(path.name) or path.is_symlink() or not path.is_file():
            continue
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:  # gone already, or not ours
            continue
        try:
            if try_lock(descriptor):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _begin(target: Path) -> tuple[Path, int]:
    """A new, locked file beside the target, with the permissions that the umask allows."""
    while True:
        name = f".coterie-{secrets.token_hex(4)}-{target.stem[:80]}{target.suffix}"
        part = target.with_name(name)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if try_lock(descriptor) and is_linked(descriptor, part):
            return part, descriptor
        os.close(descriptor)  # taken for a leftover before it was locked


@contextmanager
def _about(target: Path) -> Iterator[None]:
    """Errors of a full disk name the target, not the temporary file or nothing at all."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(target)) from error
