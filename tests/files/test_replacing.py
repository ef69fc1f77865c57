import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.files.replacing import remove_leftovers, replacing

# Says where it writes, and waits to be killed.
WRITER = """
import sys, time
from pathlib import Path
from coterie.files.replacing import replacing

with replacing(Path(sys.argv[1])) as part:
    part.write_text("half")
    print(part, flush=True)
    time.sleep(600)
"""


def start_writer(target):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE, text=True
    )
    return process, Path(process.stdout.readline().strip())


def kill(process):
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    process.stdout.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "a" / "labels.csv"
    with replacing(target) as part:
        part.write_text("new")
        assert part.suffix == ".csv"
        assert not target.exists()
    assert target.read_text() == "new"
    assert names(target.parent) == ["labels.csv"]


def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path):
    target = tmp_path / "labels.csv"
    target.write_text("old")

    def fail():
        with replacing(target) as part:
            part.write_text("half")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["labels.csv"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_read_a_new_file(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "x") as part:
            part.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == mode


def test_a_file_that_was_there_keeps_its_permissions(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    target.chmod(0o640)
    with replacing(target) as part:
        part.write_text("new")
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    link, target = tmp_path / "link", tmp_path / "folder" / "x"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_full_disk_is_an_error_of_the_target(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match=r"/x'$") as info, replacing(target) as part:
            part.write_bytes(b"0" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (info.value.errno, info.value.filename) == (errno.EFBIG, str(target))
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x"]


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "labels.csv"
    process, part = start_writer(target)
    kill(process)
    assert names(tmp_path) == [part.name]
    with replacing(target) as part:
        part.write_text("new")
    assert names(tmp_path) == ["labels.csv"]


def test_what_another_process_writes_is_left_alone(tmp_path):
    process, part = start_writer(tmp_path / "labels.csv")
    try:
        with replacing(tmp_path / "other.csv") as mine:
            mine.write_text("new")
        assert names(tmp_path) == sorted([part.name, "other.csv"])
    finally:
        kill(process)


def test_files_of_others_are_left_alone(tmp_path):
    others = [".coterie-notes", ".coterie-0123abcd", ".labels-0123abcd.csv", "coterie-01234567-x"]
    for name in others:
        (tmp_path / name).write_text("precious")
    (tmp_path / ".coterie-01234567-folder").mkdir()
    (tmp_path / ".coterie-01234567-link").symlink_to(tmp_path / others[0])
    before = names(tmp_path)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == before
