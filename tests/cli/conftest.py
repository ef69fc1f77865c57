import signal

import pytest


@pytest.fixture
def hang_up():
    """SIGHUP ends a process, as in a terminal: under nohup it is ignored, and stays so."""
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, inherited)


@pytest.fixture
def ctrl_c():
    """SIGINT interrupts, as in a terminal, and the code under test leaves its handler as it was.

    A test run in the background inherits SIGINT ignored, and Python then installs no handler.
    """
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, inherited)
