"""Calibration of the memberships, on fresh sets of each family of the universal prior.

A point is right if the best matching of found and true clusters pairs its found cluster with its
true one; its confidence is its membership in the found cluster. Noise is not scored.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bench.command import command
from bench.held_out import FAMILIES, held_out_sets
from bench.machine import describe_machine
from bench.race import Progress
from bench.reliability import BINS, Reliability
from bench.report import Table
from bench.suite import SuiteSet
from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.registry import clusterer
from coterie.metrics import rightly_clustered

SHIPPED = ("amcp-universal",)


class Calibrated(NamedTuple):
    """A model and its reliability on the sets of each family."""

    name: str
    families: dict[str, Reliability]

    @property
    def overall(self) -> Reliability:
        """The reliability over all points of all families."""
        return Reliability.all_of(self.families.values())

    def parts(self) -> Iterator[tuple[str, Reliability]]:
        """Each family by name, then all of them together."""
        yield from self.families.items()
        yield "all", self.overall


@dataclass(frozen=True)
class CalibrationReport:
    """Models on n_sets sets of each family, with the machine and the time."""

    command: str
    date: str
    machine: dict[str, Any]
    n_sets: int
    models: tuple[Calibrated, ...]

    name = "calibration"

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data."""
        return {
            "benchmark": self.name,
            "command": self.command,
            "date": self.date,
            "machine": dict(self.machine),
            "sets_of_each_family": self.n_sets,
            "n_bins": BINS,
            "models": {
                model.name: {part: found.to_json() for part, found in model.parts()}
                for model in self.models
            },
        }

    def tables(self) -> list[Table]:
        """A table for each model."""
        header = ["family", "points", "mean confidence", "share right", "ECE"]
        return [
            Table(
                f"{model.name}: calibration on {self.n_sets} sets of each family",
                header,
                [[part, *_cells(found)] for part, found in model.parts()],
            )
            for model in self.models
        ]


def run_calibration(
    weights: Sequence[str], n_sets: int, seed: int, progress: Progress | None = None
) -> CalibrationReport:
    """Cluster n_sets sets of each family with each of the weights, and compare with the truth.

    progress(label, done, total) is called after each set.
    """
    date = datetime.now(UTC).isoformat(timespec="seconds")
    suite = held_out_sets(n_sets, seed)
    models = []
    for name in weights:
        model = clusterer(name, random_state=0)
        found: dict[str, list[Reliability]] = {family: [] for family in FAMILIES}
        for done, given in enumerate(suite, 1):
            found[given.kind].append(judge(model, given))
            if progress is not None:
                progress(name, done, len(suite))
        families = {family: Reliability.all_of(parts) for family, parts in found.items()}
        models.append(Calibrated(name, families))
    asked = command("calibration", sets=n_sets, seed=seed, weights=[*weights])
    return CalibrationReport(asked, date, describe_machine(), n_sets, tuple(models))


def judge(model: AmortizedClusterer, given: SuiteSet) -> Reliability:
    """The reliability of a model on one set."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # warnings about data outside the training range
        found = model.fit(given.points).clustering_
    scored = given.labels >= 0
    right = rightly_clustered(given.labels[scored], found.labels[scored])
    return Reliability.of(found.confidence[scored], right)


def _cells(found: Reliability) -> list[str]:
    shares = (found.mean_confidence, found.share_right, found.calibration_error)
    return [f"{found.n_points:,}", *(f"{share:.3f}" for share in shares)]
