"""Damaged files, read by `coterie cluster` and `coterie predict`.

Each must be read, or refused by exit code 2 and one line. There is no traceback, no hang, no file
half written, and the process does not die.

    python benchmarks/reliability files --attempts 1000
"""

import gzip
import tempfile
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from numpy.random import Generator, default_rng

from coterie.estimators.registry import clusterer
from reliability._as_file import REFUSED, SERVED, WEIGHTS, run_command
from reliability._mutations import DAMAGES, FORMATS, frame, leave
from reliability._supervised import endings

OTHER_NAME, TWICE, PREDICTED, REPORTED = 0.1, 0.2, 0.25, 0.1  # shares of the attempts


def campaign(attempts: int, seed: int = 0) -> dict[str, Any]:
    """Damage so many files; the row counts what came of them."""
    outcomes, kinds, failures, slowest = Counter[str](), Counter[str](), [], 0.0
    with tempfile.TemporaryDirectory() as models:
        write_models(Path(models))
        for number, ending in enumerate(endings(partial(attempt, Path(models)), attempts, seed)):
            kinds[ending.kind] += 1
            slowest = max(slowest, ending.seconds)
            outcomes[ending.outcome] += 1
            if ending.outcome not in (SERVED, REFUSED):
                failures.append(f"{number} {ending.kind}: {ending.outcome}")
    return {
        "campaign": "files",
        "attempts": attempts,
        "seed": seed,
        "labels": outcomes[SERVED],
        "refused": outcomes[REFUSED],
        "kinds": dict(sorted(kinds.items())),
        "slowest_cpu_seconds": round(slowest, 2),
        "failures": failures,
    }


def attempt(models: Path, seed: int, number: int) -> tuple[str, str]:
    """How one file was damaged, and what came of it; models: the folder of fitted ones."""
    random = default_rng((seed, number))
    suffix = list(FORMATS)[int(random.integers(len(FORMATS)))]
    content = FORMATS[suffix](frame(random))
    damages = [DAMAGES[int(random.integers(len(DAMAGES)))]]
    if random.random() < TWICE:
        damages.append(DAMAGES[int(random.integers(len(DAMAGES)))])
    inside = suffix == ".csv.gz" and random.random() < 0.5  # damaged before it was compressed
    if inside:
        content = gzip.decompress(content)
    for damage in damages:
        content = damage(content, random) if content else content
    if inside:
        content = gzip.compress(content, mtime=0)
    kind = f"{suffix[1:]}, {damages[0].__name__.replace('_', ' ')}"
    if random.random() < OTHER_NAME:
        suffix = list(FORMATS)[int(random.integers(len(FORMATS)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(content)
        command = _command(path, models, random)
        outcome = run_command(path, *command)
    is_good = damages == [leave] and path.name.endswith(kind.partition(",")[0])
    if is_good and outcome == REFUSED and command[0] == "cluster":  # arrays lack the model's names
        outcome = "a good file was refused"
    return kind, outcome


def _command(path: Path, models: Path, random: Generator) -> tuple[str, ...]:
    """`cluster` with some weights, or `predict` by a model of the same columns."""
    weights = WEIGHTS[int(random.integers(len(WEIGHTS)))]
    if random.random() < PREDICTED:
        return "predict", str(path), "--model", str(models / f"{weights}.coterie")
    report = ("--report", str(path.with_name("report.html")))
    more = report if random.random() < REPORTED else ()
    return "cluster", str(path), "--weights", weights, *more


def write_models(folder: Path) -> None:
    """Files of models of the first two columns, with all weights."""
    table = frame(default_rng(1)).select("x", "y, z")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about data unlike the training sets
        for weights in WEIGHTS:
            clusterer(weights).fit(table).save(folder / f"{weights}.coterie")
