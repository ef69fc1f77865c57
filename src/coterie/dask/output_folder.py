"""The folder of labelled files: what it holds, and whether a run may go on there.

`_coterie.json` tells of which files and settings the labels are, `_coterie.npz` holds the drawn
rows, so that a stopped run finds the same clusters again without reading everything. Readers of
folders of Parquet files skip names with a leading underscore.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.tables.table import SourceError, pyarrow
from coterie.estimators.drawing import Drawn
from coterie.files.replacing import remove_leftovers, replacing

MANIFEST, SAMPLE = "_coterie.json", "_coterie.npz"


@dataclass(frozen=True)
class Inputs:
    """The files of a run and how many rows each has."""

    paths: tuple[Path, ...]
    n_rows: tuple[int, ...]

    def described(self) -> list[list[Any]]:
        """Name, size and time of each file: what changes when it is written again."""
        return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in self.paths]


def matching(*patterns: str) -> Inputs:
    """The Parquet files that patterns match, or those of folders, in the order of names."""
    paths = sorted({path for pattern in patterns for path in _matched(pattern)})
    return Inputs(tuple(paths), tuple(_n_rows(path) for path in paths))


def _matched(pattern: str) -> list[Path]:
    base = Path(pattern)
    if base.is_dir():
        paths = sorted(path for path in base.glob("*.parquet") if path.name[0] not in "._")
    elif base.is_file():
        paths = [base]
    else:
        root = Path(base.anchor or ".")
        paths = sorted(root.glob(str(base.relative_to(base.anchor))))
        paths = [path for path in paths if path.is_file() and path.name[0] not in "._"]
    if not paths:
        raise SourceError(f"no file matches {pattern}")
    return paths


@dataclass(frozen=True)
class OutputFolder:
    """A folder for the labels of some files under some settings.

    tag: a digest of files and settings; made: whether the folder is new.
    """

    path: Path
    tag: str
    made: bool = False

    def target(self, source: Path) -> Path:
        """Where the labelled rows of a file go."""
        return self.path / source.name

    def load_sample(self) -> Drawn | None:
        """The rows that an earlier run of the same kind has drawn."""
        try:
            with np.load(self.path / SAMPLE, allow_pickle=False) as stored:
                if str(stored["tag"]) != self.tag:
                    return None
                return Drawn(stored["rows"], int(stored["n_rows"]), stored["missing"])
        except (OSError, ValueError, KeyError):
            return None

    def save_sample(self, sample: Drawn) -> None:
        """Keep the drawn rows for a run that goes on."""
        with replacing(self.path / SAMPLE) as part, part.open("wb") as file:
            np.savez(file, tag=self.tag, **sample._asdict())

    @contextmanager
    def undone_on_failure(self) -> Iterator[None]:
        """Where the block fails before there are drawn rows, the folder is left as it was found."""
        try:
            yield
        except BaseException:
            if {each.name for each in self.path.iterdir()} == {MANIFEST}:
                (self.path / MANIFEST).unlink()
                if self.made:
                    self.path.rmdir()
            raise


def open_folder(path: Path, inputs: Inputs, settings: dict[str, Any]) -> OutputFolder:
    """The folder, made if need be; refused where it holds anything but the same run's output."""
    _refuse_overwriting(path, inputs.paths)
    description = {"settings": settings, "files": inputs.described()}
    text = json.dumps(description, sort_keys=True)
    tag = hashlib.sha256(text.encode()).hexdigest()
    manifest, made = path / MANIFEST, not path.exists()
    if path.exists() and not path.is_dir():
        raise SourceError(f"{path} is a file; --out names a folder, with one file for each input")
    if path.is_dir():
        remove_leftovers(path)  # of a run that was killed
    if manifest.is_file():
        if _tag_of(manifest) == tag:
            return OutputFolder(path, tag)
        if any(each.name not in (MANIFEST, SAMPLE) for each in path.iterdir()):
            raise SourceError(
                f"{path} holds the labels of other files or settings, see {MANIFEST} there; name"
                " another folder, or remove it"
            )
    elif path.is_dir() and any(path.iterdir()):
        first = min(each.name for each in path.iterdir())
        raise SourceError(f"{path} is not empty, it has {first!r}; name another folder")
    with replacing(manifest) as part:
        part.write_text(json.dumps({"tag": tag, **description}, indent=1, sort_keys=True))
    return OutputFolder(path, tag, made)


def _refuse_overwriting(path: Path, paths: Sequence[Path]) -> None:
    names = [source.name for source in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"several input files are called {twice!r}: their outputs would clash")
    if path.is_dir() and any(source.parent.samefile(path) for source in paths):
        raise SourceError(f"{path} is the folder of the input files; write to another folder")


def _tag_of(manifest: Path) -> str | None:
    try:
        tag = json.loads(manifest.read_text()).get("tag")
    except (OSError, ValueError, AttributeError):
        return None
    return tag if isinstance(tag, str) else None


def _n_rows(path: Path) -> int:
    arrow = pyarrow()
    try:
        return int(arrow.parquet.read_metadata(path).num_rows)
    except (OSError, arrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"{path} is a damaged Parquet file: {reason}") from error
