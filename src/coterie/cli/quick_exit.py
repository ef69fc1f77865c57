"""The end of a program without freeing its objects one by one.

After torch has been imported these are half a million, and Python takes a third of a second to free
them. The operating system takes back their memory at once.
"""

import atexit
import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self


class QuickExit:
    """Ends the process with the exit code of the code inside, after all other exit handlers.

    The code inside must be the last that the process runs. Handlers run in the reverse order of
    their registration, so this must be made before whatever registers one. Code that raises
    anything but SystemExit ends the usual way, with its traceback.
    """

    def __init__(self) -> None:
        self._code: int | None = None
        self._process = os.getpid()
        atexit.register(self._leave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self._code = 0
        elif isinstance(error, SystemExit) and isinstance(error.code, int | None):
            self._code = error.code or 0

    def _leave(self) -> None:
        if self._code is None or os.getpid() != self._process:  # a fork has an end of its own
            return
        with suppress(OSError, ValueError):  # Python itself reports what cannot be written
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self._code)
