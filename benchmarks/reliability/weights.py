"""Damaged weights of every system, and damaged files of fitted models.

A file that was damaged on its way must be refused by a `WeightsError`. A file that somebody wrote
so, with checksums in order, must be refused too, or serve: its answers are labels and probabilities
like any other's. Nothing may raise another exception, hang or build what the file does not hold.

    python benchmarks/reliability weights --attempts 1000
"""

import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load_file

import coterie
from coterie.weights.checksum import tensor_checksum
from coterie.weights.format import WeightsError, load_system
from reliability._damages import ON_ITS_WAY, WRITTEN
from reliability._small_systems import SMALL, answer, serve, write_model, write_small
from reliability.inputs import judged

HANG = 20  # seconds of the processor: those of the wall depend on what else runs
DAMAGED = "its weights are damaged"


def campaign(attempts: int, seed: int = 0) -> dict[str, Any]:
    """Damage the files of small networks in so many ways; the row counts what came of it."""
    torch.set_num_threads(1)
    random, outcomes, kinds, failures, slowest = Random(seed), Counter(), Counter(), [], 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about data unlike the training sets
        path = Path(folder) / "weights.safetensors"
        files = list(_whole_files(path).items())
        for number in range(attempts):
            damage = (ON_ITS_WAY + WRITTEN)[number % len(ON_ITS_WAY + WRITTEN)]
            kind, whole = random.choice(files)
            path.write_bytes(whole)
            damage(path, random)
            began = time.process_time()
            outcome = _try(path, kind)
            slowest = max(slowest, time.process_time() - began)
            if damage in ON_ITS_WAY and outcome == "served":
                outcome = "damage accepted"
            outcomes[outcome] += 1
            kinds[kind] += 1
            if outcome not in ("refused", "served"):
                failures.append(f"{number} {kind}, {damage.__name__}: {outcome}")
    return {
        "campaign": "weights",
        "attempts": attempts,
        "seed": seed,
        "refused": outcomes["refused"],
        "served": outcomes["served"],
        "kinds": dict(sorted(kinds.items())),
        "failures": failures,
        "slowest_cpu_seconds": round(slowest, 3),
        **_cost("amcp-universal"),
    }


def _whole_files(path: Path) -> dict[str, bytes]:
    """Weights of every system, and the models that were fitted with them."""
    files = {}
    for name in SMALL:
        write_small(name, path)
        files[name] = path.read_bytes()
        if SMALL[name].system != "mice":  # whose model is its weights
            files[f"model of {name}"] = write_model(name, path)
    return files


def _try(path: Path, kind: str) -> str:
    """What becomes of a file: refused, served, or how it failed."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        return _served(path, kind)
    except WeightsError as error:
        return "refused" if str(path) in str(error) else f"file not named: {error}"
    except TimeoutError:
        return f"no answer in {HANG} s"
    except Exception as error:
        if DAMAGED in str(error):  # found out by what it answers
            return "refused"
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _served(path: Path, kind: str) -> str:
    name = kind.removeprefix("model of ")
    if name == kind:
        load_system(path)
        return serve(name, path)
    model = coterie.load(path)
    try:
        return answer(name, model)
    except ValueError as error:  # its columns may be others
        return judged(error)


def _cost(name: str, repeats: int = 10) -> dict[str, float]:
    """Milliseconds that a shipped model takes to load, and its checksum of these."""
    path = next(model.path for model in coterie.models() if model.name == name)
    tensors = load_file(path)
    best = {"load_ms": lambda: load_system(path), "checksum_ms": lambda: tensor_checksum(tensors)}
    return {what: round(min(_timed(do) for _ in range(repeats)), 1) for what, do in best.items()}


def _timed(do: Callable[[], Any]) -> float:
    began = time.perf_counter()
    do()
    return 1e3 * (time.perf_counter() - began)
