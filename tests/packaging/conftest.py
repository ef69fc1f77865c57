"""A wheel, built once, and environments that hold what it declares and nothing else."""

import os
import subprocess
import sys
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One parallel worker builds the wheel."""
    for item in items:
        if "wheel" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("wheel"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel, as `python -m build` makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(
        [sys.executable, "-m", "build", *options, str(ROOT)], check=True, capture_output=True
    )
    [built] = folder.glob("coterie-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder with the wheel, put there by pip without what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--target", str(folder)]
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options]
    subprocess.run([*pip, str(wheel)], check=True)
    return folder


@pytest.fixture(scope="session")
def metadata(installed) -> Message:
    [info] = installed.glob("coterie-*.dist-info")
    return Distribution.at(info).metadata


class Environment:
    """Python with the packages of one folder and the standard library, nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def python(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        # -S leaves out the packages of this interpreter; offline, also for the Hub's library.
        command = [sys.executable, "-S", "-W", "ignore", *arguments]
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        here = {"PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        return subprocess.run(command, cwd=cwd, env=kept | here, capture_output=True, text=True)

    def coterie(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """The command that the wheel installs."""
        return self.python(str(self.folder / "bin" / "coterie"), *arguments, cwd=cwd)


@pytest.fixture(scope="session")
def environment(installed, tmp_path_factory):
    """Make an environment of the wheel with some of its extras.

    The packages that its metadata names, and those that they name, are linked from this
    interpreter's. One that is declared nowhere is not there, though it is installed here.
    """
    made: dict[tuple[str, ...], Environment] = {}

    def make(*extras: str) -> Environment:
        if extras not in made:
            folder = tmp_path_factory.mktemp("-".join(("with", *extras)))
            for path in installed.iterdir():
                (folder / path.name).symlink_to(path)
            for package in needed(installed, extras):
                link(package, folder)
            made[extras] = Environment(folder)
        return made[extras]

    return make


def needed(installed: Path, extras: tuple[str, ...]) -> list[Distribution]:
    """The distributions that the wheel with these extras asks for, directly or through others."""
    [info] = installed.glob("coterie-*.dist-info")
    found: dict[str, Distribution] = {"coterie": Distribution.at(info)}
    asked, waiting = set(), [("coterie", frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in asked:
            continue
        asked.add((name, wanted))
        for line in found[name].requires or []:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": each}) for each in (*wanted, "")):
                continue
            other = canonicalize_name(requirement.name)
            try:
                found.setdefault(other, distribution(other))
            except PackageNotFoundError:
                pytest.skip(f"{other}, which coterie{sorted(extras)} needs, is not installed")
            waiting.append((other, frozenset(requirement.extras)))
    return [package for name, package in found.items() if name != "coterie"]


def link(package: Distribution, folder: Path) -> None:
    """Link the modules and folders that a distribution installed."""
    for name in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(str(package.locate_file(name))))
