"""Runs stored on disk one by one, so that an interrupted benchmark can be resumed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench.scores import Run


class Key(NamedTuple):
    """The identity of a run; what: a fingerprint of everything its answer depends on."""

    method: str
    given: str
    threads: int
    what: str


class Kept(NamedTuple):
    """A run, the start time of its benchmark, and the load of other processes.

    others_cpu_share: their share of all cores during the run, None if unknown.
    """

    run: Run
    date: str
    others_cpu_share: float | None = None


class Ledger:
    """Runs in a file, one line of JSON each; the later of two with the same key counts."""

    def __init__(self, path: Path, *, keep: Callable[[Key], bool]) -> None:
        """Open a new or existing file, and drop the runs that are not to be kept."""
        self._path = path
        self._kept = {key: kept for key, kept in _read(path) if keep(key)}
        partial = path.with_name(path.name + ".partial")
        partial.write_text("".join(_line(key, kept) for key, kept in self._kept.items()))
        partial.replace(path)

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def __getitem__(self, key: Key) -> Kept:
        return self._kept[key]

    def add(self, key: Key, kept: Kept) -> None:
        """Write a run to the file immediately."""
        self._kept[key] = kept
        with self._path.open("a") as file:
            file.write(_line(key, kept))


def _line(key: Key, kept: Kept) -> str:
    when = {"date": kept.date, "others_cpu_share": kept.others_cpu_share}
    return json.dumps({**key._asdict(), **kept.run._asdict(), **when}) + "\n"


def _read(path: Path) -> Iterator[tuple[Key, Kept]]:
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:  # truncated while being written
            continue
        key = Key(*(data[field] for field in Key._fields))
        run = Run(data["scores"], data["seconds"])
        yield key, Kept(run, data["date"], data.get("others_cpu_share"))
