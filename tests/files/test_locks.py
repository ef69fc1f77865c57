import os
import signal
import subprocess
import sys

import pytest

from coterie.files.locks import InUseError, locked_folder

HOLDER = """
import sys, time
from pathlib import Path
from coterie.files.locks import locked_folder

with locked_folder(Path(sys.argv[1]), "training"):
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.kill()


def test_a_folder_is_refused_while_another_process_uses_it(holder, tmp_path):
    message = rf"another training \(process {holder.pid}\) is using the folder .*{tmp_path.name}"
    with pytest.raises(InUseError, match=message), locked_folder(tmp_path, "training"):
        pass


def test_the_lock_of_a_dead_process_is_none(holder, tmp_path):
    holder.kill()
    assert holder.wait(60) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == [".coterie.lock"]
    with locked_folder(tmp_path, "training"):
        pass
    assert not any(tmp_path.iterdir())


def test_a_folder_can_be_used_again(tmp_path):
    for _ in range(2):
        with locked_folder(tmp_path / "new", "training"):
            assert (tmp_path / "new" / ".coterie.lock").read_text() == f"{os.getpid()}\n"
    assert not any((tmp_path / "new").iterdir())


def test_one_process_cannot_use_it_twice(tmp_path):
    with (
        locked_folder(tmp_path, "training"),
        pytest.raises(InUseError),
        locked_folder(tmp_path, "training"),
    ):
        pass
