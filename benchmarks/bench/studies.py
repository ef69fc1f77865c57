"""The studies of AMCP: a comparison of the recipes of `recipes/amcp.py`, one table per question.

All recipes run in one race, so that all figures come from the same sets and the same conditions. A
fit is timed from the points to the labels, with the network already in memory.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from bench.benchmark import run_benchmark
from bench.command import command
from bench.models import CALLED, Ending, cluster_with
from bench.mog import mog_setting
from bench.race import Progress
from bench.recipes.amcp import RECIPES, STUDIES, Study
from bench.report import EMPTY, Report, Table, cell
from bench.scores import Summary
from bench.sets import Setting
from coterie.comparison.methods import Answer, Method
from coterie.training.recipe import Recipe
from coterie.weights.format import WeightsError, load_system

SETTINGS = (mog_setting(300, 4, k_limit=8), mog_setting(900, 12, k_limit=16))
WEIGHTS, LOG, VALIDATION = "weights.safetensors", "log.jsonl", "validation.jsonl"
CURVE_COLUMNS = 6


class Training(NamedTuple):
    """A training run: its steps, wall-clock seconds, and scores (step, ari, k_mae) during it.

    steps and seconds are None if the run has no log.
    """

    steps: int | None
    seconds: float | None
    curve: tuple[dict[str, float], ...]


@dataclass(frozen=True)
class Trained:
    """A recipe that has weights."""

    recipe: Recipe
    system: nn.Module
    training: Training

    @property
    def n_parameters(self) -> int:
        """The number of learnt parameters."""
        return sum(parameter.numel() for parameter in self.system.parameters())


@dataclass(frozen=True)
class StudiesReport:
    """The race of all recipes, their training, and the questions they answer."""

    report: Report
    trained: dict[str, Trained]
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the results file."""
        return self.report.name

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data; studies list recipes, methods add endings."""
        data = self.report.to_json()
        del data["printed"]  # the paper's tables use other data
        return {
            **data,
            "studies": [asdict(study) for study in STUDIES],
            "missing": list(self.missing),
            "recipes": {name: _recipe_data(each) for name, each in self.trained.items()},
        }

    def tables(self) -> list[Table]:
        """A table for each study, and one for the training curves."""
        tables = [self._table(study) for study in STUDIES]
        curves = _curve_table(self.trained)
        return tables if curves is None else [*tables, curves]

    def _table(self, study: Study) -> Table:
        header = ["recipe", "answer", "parameters", "training, s"]
        for race in self.report.races:
            header += [f"{title} {race.setting.title}" for title in ("ARI", "k-MAE")]
            header += [f"LL - oracle {race.setting.title}", f"ms {race.setting.title}"]
        rows = []
        for name in study.recipes:
            if name in self.trained:
                rows += [self._row(name, ending) for ending in study.endings]
            else:
                rows.append([name, "no weights", *[EMPTY] * (len(header) - 2)])
        return Table(f"{study.name}: {study.question}", header, rows)

    def _row(self, name: str, ending: Ending) -> list[str]:
        trained = self.trained[name]
        seconds = trained.training.seconds
        row = [name, CALLED[ending], f"{trained.n_parameters}"]
        row.append(EMPTY if seconds is None else f"{seconds:.0f}")
        for race in self.report.races:
            found = {summary.name: summary for summary in race.ours.methods}
            row += _cells(found[method_name(name, ending)])
        return row


def run_studies(
    runs: Path = Path("runs/studies"),
    n_sets: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    settings: Sequence[Setting] = SETTINGS,
) -> StudiesReport:
    """Race the recipes whose weights are in runs/NAME on n_sets sets of each setting."""
    trained = trained_recipes(runs)
    report = run_benchmark(
        "studies",
        settings,
        [
            study_method(trained[name], ending)
            for name, endings in _endings(STUDIES).items()
            if name in trained
            for ending in endings
        ],
        command=command("studies", runs=runs, sets=n_sets, seed=seed),
        n_sets=n_sets,
        n_peer_sets=0,
        seed=seed,
        progress=progress,
    )
    missing = tuple(recipe.name for recipe in RECIPES if recipe.name not in trained)
    return StudiesReport(report, trained, missing)


def trained_recipes(runs: Path) -> dict[str, Trained]:
    """The recipes whose weights are in runs/NAME; raises if there are none."""
    trained = {
        recipe.name: _open(runs / recipe.name, recipe)
        for recipe in RECIPES
        if (runs / recipe.name / WEIGHTS).is_file()
    }
    if not trained:
        example = RECIPES[0].name
        raise ValueError(
            f"no weights of any study in {runs}; train some, for instance with"
            f" python benchmarks train {example} --out {runs / example}"
        )
    return trained


def method_name(recipe: str, ending: Ending) -> str:
    """The name of a recipe with an ending in the race."""
    return f"{recipe}, {CALLED[ending]}"


def study_method(trained: Trained, ending: Ending) -> Method:
    """A trained recipe with one of its endings.

    Not through an estimator: estimators cache only a few networks, so a race of many would reload
    each of them for every set.
    """

    def fit(points: NDArray[np.float32]) -> Answer:
        clustering = cluster_with(trained.system, points, ending)
        claimed = clustering.log_likelihood if ending == "network" else None
        return Answer(clustering.labels, claimed)

    return Method(method_name(trained.recipe.name, ending), CALLED[ending], fit)


def read_training(folder: Path) -> Training:
    """Read the log and the validation scores of a run."""
    log = _lines(folder / LOG)
    # A resumed run restarts its clock and scores some steps again: the later line counts.
    clock = [*(float(line["seconds"]) for line in log), 0.0]
    seconds = sum(now for now, after in pairwise(clock) if after < now)
    curve = {int(line["step"]): line for line in _lines(folder / VALIDATION)}
    return Training(
        steps=int(log[-1]["step"]) if log else None,
        seconds=round(seconds, 3) if log else None,
        curve=tuple(curve[step] for step in sorted(curve)),
    )


def _open(folder: Path, recipe: Recipe) -> Trained:
    system, card = load_system(folder / WEIGHTS)
    followed = card.provenance.get("recipe", {})
    for part in ("name", "system", "settings", "prior"):
        if followed.get(part) != json.loads(json.dumps(recipe.describe()[part])):
            raise WeightsError(f"{folder / WEIGHTS} does not follow {recipe.name}: its {part}")
    return Trained(recipe, system, read_training(folder))


def _endings(studies: Sequence[Study]) -> dict[str, list[Ending]]:
    """The endings to measure for each recipe, each once for all studies."""
    wanted: dict[str, list[Ending]] = {}
    for study in studies:
        for name in study.recipes:
            endings = wanted.setdefault(name, [])
            endings += [ending for ending in study.endings if ending not in endings]
    return wanted


def _cells(summary: Summary) -> list[str]:
    metrics = [summary.metrics.get(key) for key in ("ari", "k_mae", "ll_minus_oracle")]
    assert summary.seconds_median is not None
    return [*map(cell, metrics), f"{1000 * summary.seconds_median:.1f}"]


def _curve_table(trained: dict[str, Trained]) -> Table | None:
    """ARI on the validation sets after selected numbers of steps."""
    curves = {
        name: {int(point["step"]): point["ari"] for point in each.training.curve}
        for name, each in trained.items()
    }
    steps = sorted({step for curve in curves.values() for step in curve})
    if not steps:
        return None
    every = -(-len(steps) // CURVE_COLUMNS)
    shown = steps[::-1][::every][::-1]  # always with the last one
    rows = [
        [name, *(f"{curve[step]:.3f}" if step in curve else EMPTY for step in shown)]
        for name, curve in curves.items()
    ]
    title = "training curves: validation ARI after so many steps, as the network says"
    return Table(title, ["recipe", *(f"{step}" for step in shown)], rows)


def _recipe_data(trained: Trained) -> dict[str, Any]:
    described = trained.recipe.describe()
    return {
        "system": described["system"],
        "settings": described["settings"],
        "n_parameters": trained.n_parameters,
        "training": {**trained.training._asdict(), "curve": list(trained.training.curve)},
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
