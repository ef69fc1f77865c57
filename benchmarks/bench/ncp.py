"""NCP against DAC on sets larger than those of its training: DAC's Table 5."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.benchmark import run_benchmark
from bench.command import command
from bench.models import CALLED, digest_of_weights, estimator, seated_labels
from bench.mog import mog_setting
from bench.printed import DAC_TABLE_5
from bench.race import Progress
from bench.report import Report, Table
from bench.resumed import StoredRuns
from bench.sets import Setting
from coterie.comparison.methods import Answer, Method, amortized
from coterie.estimators.registry import clusterer

SHIPPED, REFERENCE = "ncp-mog2d", "dac-mog2d"
SETTINGS = (mog_setting(3000, 12, k_limit=16),)
SAMPLES = (1, 10, 50)


@dataclass(frozen=True)
class NCPReport(Report):
    """The race, and how many times as long as DAC each method takes."""

    def times_as_long(self) -> dict[str, float]:
        """By the mean seconds of a set, in the first setting; one for DAC itself."""
        seconds = {
            method.name: method.seconds_mean
            for method in self.races[0].ours.methods
            if method.seconds_mean is not None
        }
        return {name: each / seconds[REFERENCE] for name, each in seconds.items()}

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "times_as_long_as_dac": self.times_as_long()}

    def tables(self) -> list[Table]:
        ratios = [[name, f"{ratio:,.1f}"] for name, ratio in self.times_as_long().items()]
        header = ["method", f"times as long as {REFERENCE}"]
        own, *others = super().tables()
        return [own, Table("time, one set a call", header, ratios), *others]


def run_ncp(
    n_sets: int = 100,
    n_variant_sets: int = 14,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    weights: str = SHIPPED,
    samples: Sequence[int] = SAMPLES,
    device: str = "cpu",
    settings: Sequence[Setting] = SETTINGS,
    ledger: Path | None = None,
    resume: bool = False,
) -> NCPReport:
    """DAC, and NCP with several numbers of samples, on the same sets, one set a call.

    Variants of NCP's seats are compared with these on the first n_variant_sets sets;
    ledger: the file in which runs are stored one by one; with resume, those in it count.
    """
    options = {"random_state": 0, "device": device}
    dac = (
        amortized(REFERENCE, clusterer(REFERENCE, **options)),
        amortized(f"{REFERENCE}, {CALLED['network']}", estimator(REFERENCE, "network", **options)),
    )
    own = clusterer(weights, **options)
    few = own.get_params()["n_samples"]
    variants = (
        amortized(f"{weights}, S = {few}, seated again", own),
        _all_waiting(weights, few, device),
    )
    stored = None
    if ledger is not None:
        version = f"{digest_of_weights(REFERENCE)} {digest_of_weights(weights)} {device}"
        stored = StoredRuns(ledger, version, resume=resume)
    report = run_benchmark(
        "ncp",
        settings,
        (*dac, *(_seated(weights, number, device) for number in samples)),
        command=command(
            "ncp",
            sets=n_sets,
            variant_sets=n_variant_sets,
            seed=seed,
            weights=weights,
            device=device,
        ),
        n_sets=n_sets,
        n_peer_sets=n_variant_sets,
        seed=seed,
        progress=progress,
        printed=(DAC_TABLE_5,),
        run=stored,
        rivals=variants,
    )
    parts = {field.name: getattr(report, field.name) for field in fields(report)}
    if stored is not None:
        parts["machine"] = stored.loaded(report.machine)
    return NCPReport(**parts)


def _seated(weights: str, n_samples: int, device: str) -> Method:
    """The most probable of some draws, as the paper scores it: without another look."""

    def cluster(points: NDArray[np.float32]) -> Answer:
        return Answer(seated_labels(weights, points, n_samples, device))

    details = f"the most probable of {n_samples} draws, each in a random order"
    return Method(f"{weights}, S = {n_samples}", details, cluster)


def _all_waiting(weights: str, n_samples: int, device: str) -> Method:
    """The same with U as in the paper, however many points wait for a seat."""

    def cluster(points: NDArray[np.float32]) -> Answer:
        return Answer(seated_labels(weights, points, n_samples, device, most_waiting=len(points)))

    details = f"{n_samples} draws, U not scaled down to the sizes of training"
    return Method(f"{weights}, S = {n_samples}, U not scaled", details, cluster)
