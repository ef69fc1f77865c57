"""The end of a command: its exit code, what others do at the end, and what was printed."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from coterie.cli.quick_exit import QuickExit
quick_exit = QuickExit()
import atexit, os, sys, tempfile, threading, time
atexit.register(print, "handler")
folder = tempfile.TemporaryDirectory()
threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()

class Slow:
    def __del__(self):
        print("freed")

kept = Slow()
with quick_exit:
    print(folder.name)
    {body}
"""


def run(body, stdout=subprocess.PIPE, **environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "", **environment},  # without PYTHONUNBUFFERED
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [("pass", 0), ("sys.exit()", 0), ("sys.exit(7)", 7), ("raise SystemExit(2)", 2)],
)
def test_the_exit_code_stays_and_handlers_run_but_nothing_is_freed(body, code, tmp_path):
    ended = run(body, TMPDIR=str(tmp_path))
    assert ended.returncode == code
    assert ended.stdout.splitlines()[1:] == ["thread", "handler"]
    assert ended.stdout.startswith(str(tmp_path))
    assert not list(tmp_path.iterdir())  # the temporary folder is gone
    assert not ended.stderr


def test_an_error_ends_the_usual_way():
    ended = run("1 / 0")
    assert ended.returncode == 1
    assert ended.stdout.endswith("thread\nhandler\nfreed\n")
    assert "ZeroDivisionError" in ended.stderr


def test_a_message_is_printed():
    ended = run("sys.exit('in words')")
    assert (ended.returncode, ended.stderr) == (1, "in words\n")


def test_a_fork_ends_on_its_own():
    ended = run("sys.exit(3 if os.fork() else 5)")
    assert ended.returncode == 3
    assert ended.stdout.count("handler") == 2


def test_output_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w") as full:
        ended = run("kept = None", stdout=full)
    assert ended.returncode == 120  # as of Python
    assert "No space left" in ended.stderr
