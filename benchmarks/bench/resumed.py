"""Runs of a long race, stored one by one, so that it can be interrupted and resumed."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from bench.ledger import Kept, Key, Ledger
from bench.machine import Stopwatch
from bench.methods import ToldK
from bench.race import run_method
from bench.scores import Run
from bench.sets import LabelledSet
from coterie.comparison.methods import Method


class StoredRuns:
    """Runs a method on a set, or returns the run that was stored before.

    version: what the answers depend on besides the details of the methods, such as weights.
    """

    def __init__(self, path: Path, version: str, *, resume: bool) -> None:
        self._ledger = Ledger(path, keep=lambda key: resume)
        self._version = version
        self._date = datetime.now(UTC).isoformat(timespec="seconds")
        self._used: list[Kept] = []
        self._warm: set[str] = set()

    def __call__(self, method: Method | ToldK, given: LabelledSet) -> Run:
        if isinstance(method, ToldK):
            method = method.of(given.n_clusters)
        key = self._key(method, given)
        if key not in self._ledger:
            if method.name not in self._warm:  # the first call also loads weights
                method.cluster(given.points)
                self._warm.add(method.name)
            beside = Stopwatch()
            run = run_method(method, given)
            self._ledger.add(key, Kept(run, self._date, beside.others_share()))
        self._used.append(self._ledger[key])
        return self._used[-1].run

    def others_share(self) -> float | None:
        """The load of other processes during all runs used, weighted by their time."""
        known = [
            (kept.run.seconds, kept.others_cpu_share)
            for kept in self._used
            if kept.others_cpu_share is not None
        ]
        total = sum(seconds for seconds, _ in known)
        return round(sum(s * share for s, share in known) / total, 3) if total else None

    def loaded(self, machine: dict[str, Any]) -> dict[str, Any]:
        """The description of a machine with the load during all runs used."""
        return {**machine, "others_cpu_share": self.others_share()}

    def _key(self, method: Method, given: LabelledSet) -> Key:
        points = hashlib.sha256(given.points.tobytes() + given.labels.tobytes()).hexdigest()[:16]
        what = hashlib.sha256(f"{method.details}\n{self._version}".encode()).hexdigest()[:16]
        return Key(method.name, points, torch.get_num_threads(), what)
