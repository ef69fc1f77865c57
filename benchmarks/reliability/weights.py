"""Damaged weights files: bit flips, truncations, mutated headers and tensors.

A file that was damaged on its way must be refused by a `WeightsError`. A file that somebody wrote
so, with checksums in order, must be refused too, or serve: its answers are labels and probabilities
like any other's. Nothing may raise another exception, hang or build what the file does not hold.
"""

import json
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, load_file, save

import coterie
from coterie.systems.registry import build
from coterie.weights.checksum import ENTRY, tensor_checksum
from coterie.weights.format import (
    WeightsError,
    load_system,
    load_tensors,
    make_card,
    save_system,
    save_tensors,
)

HANG = 20  # seconds of the processor: those of the wall depend on what else runs
DAMAGED = "its weights are damaged"
SMALL = {
    "width": 16,
    "heads": 2,
    "references": 4,
    "em_steps": 1,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "read_width": 8,
    "refinements": 1,
}
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 10**9, 10**400, -0.5, 0.5, 1e300, 1e-300, "", "amcp"),
    *(float("nan"), float("inf"), [], [1], [[]], {}, {"a": 1}, "\x00", "x" * 10_000, "none"),
)

Damage = Callable[[Path, Random], None]


def flip_bit(path: Path, random: Random) -> None:
    """One bit anywhere."""
    content = bytearray(path.read_bytes())
    bit = random.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def flip_header_bit(path: Path, random: Random) -> None:
    """One bit of the header, which is a small part of the file."""
    content = bytearray(path.read_bytes())
    bit = random.randrange(8 * (8 + int.from_bytes(content[:8], "little")))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def truncate(path: Path, random: Random) -> None:
    """The end is missing."""
    content = path.read_bytes()
    path.write_bytes(content[: random.randrange(len(content))])


def overwrite(path: Path, random: Random) -> None:
    """A block of noise or zeros, as of a bad disk."""
    content = bytearray(path.read_bytes())
    start = random.randrange(len(content))
    block = content[start : start + random.choice((16, 512, 4096))]
    noise = random.choice((bytes(len(block)), random.randbytes(len(block))))
    if noise == block:
        noise = bytes(byte ^ 255 for byte in block)
    content[start : start + len(block)] = noise
    path.write_bytes(content)


def edit_header(path: Path, random: Random) -> None:
    """An entry of the header is another, the checksums are as they were."""
    tensors, header = load(path.read_bytes()), _header(path)
    before = json.dumps(header)
    while json.dumps(header) == before:
        _put_odd(header["card"], random)
    path.write_bytes(save(tensors, metadata={"coterie": json.dumps(header)}))


def write_odd_card(path: Path, random: Random) -> None:
    """A card that somebody else wrote, with checksums in order."""
    tensors, header = load_tensors(path)
    for _ in range(random.randint(1, 3)):
        _put_odd(header["card"], random)
    save_tensors(path, tensors, header)


def write_odd_tensors(path: Path, random: Random) -> None:
    """Tensors that somebody else wrote, with checksums in order."""
    tensors, header = load_tensors(path)
    name = random.choice(sorted(tensors))
    tensor = tensors[name]
    odd: tuple[Callable[[], Any], ...] = (
        lambda: tensors.pop(name),
        lambda: tensors.update({f"{name}.more": tensor.clone()}),
        lambda: tensors.update({name: torch.full_like(tensor, torch.nan)}),
        lambda: tensors.update({name: torch.full_like(tensor, torch.inf)}),
        lambda: tensors.update({name: tensor * 1e30}),
        lambda: tensors.update({name: torch.zeros_like(tensor)}),
        lambda: tensors.update({name: tensor[None]}),
        lambda: tensors.update({name: tensor.to(torch.complex64)}),
        lambda: tensors.update({name: tensor.to(torch.int64)}),
        lambda: tensors.update({name: tensor.bool()}),
        lambda: tensors.update({name: tensor.double()}),
    )
    random.choice(odd)()
    save_tensors(path, tensors, header)


def flip_old_bit(path: Path, random: Random) -> None:
    """One bit of the tensors of a file from before there were checksums."""
    tensors, header = load(path.read_bytes()), _header(path)
    del header[ENTRY]
    content = bytearray(save(tensors, metadata={"coterie": json.dumps(header)}))
    first = 8 + int.from_bytes(content[:8], "little")
    bit = random.randrange(8 * first, 8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


# What happens to a file on its way, and what somebody may have written.
ON_ITS_WAY: tuple[Damage, ...] = (flip_bit, flip_header_bit, truncate, overwrite, edit_header)
WRITTEN: tuple[Damage, ...] = (write_odd_card, write_odd_tensors, flip_old_bit)


def campaign(attempts: int, seed: int = 0) -> dict[str, Any]:
    """Damage a small network's file in so many ways; the row counts what came of it."""
    torch.set_num_threads(1)
    random, outcomes, failures, slowest = Random(seed), Counter(), [], 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about data unlike the training sets
        path = Path(folder) / "weights.safetensors"
        _write_small(path)
        whole = path.read_bytes()
        for number in range(attempts):
            damage = (ON_ITS_WAY + WRITTEN)[number % len(ON_ITS_WAY + WRITTEN)]
            path.write_bytes(whole)
            damage(path, random)
            began = time.process_time()
            outcome = _try(path)
            slowest = max(slowest, time.process_time() - began)
            if damage in ON_ITS_WAY and outcome == "served":
                outcome = "damage accepted"
            outcomes[outcome] += 1
            if outcome not in ("refused", "served"):
                failures.append(f"{number} {damage.__name__}: {outcome}")
    return {
        "campaign": "weights",
        "attempts": attempts,
        "seed": seed,
        "refused": outcomes["refused"],
        "served": outcomes["served"],
        "failures": failures,
        "slowest_cpu_seconds": round(slowest, 3),
        **_cost("amcp-universal"),
    }


def _try(path: Path) -> str:
    """What becomes of a file: refused, served, or how it failed."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        load_system(path)
        return _serve(path)
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


def _serve(path: Path) -> str:
    points = np.random.default_rng(0).normal(size=(60, 2))
    model = coterie.AMCP(str(path), random_state=0).fit(points)
    labels, probabilities = model.labels_, model.predict_proba(points)
    if len(labels) != len(points) or not 0 <= labels.min() <= labels.max() < model.n_clusters_:
        return "labels out of range"
    if not np.isfinite(probabilities).all() or abs(probabilities.sum(1) - 1).max() > 1e-6:
        return "probabilities that are none"
    return "served"


def _write_small(path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("amcp", SMALL)
    save_system(path, system, make_card(system, trained_on="nothing", seed=0))


def _put_odd(card: dict[str, Any], random: Random) -> None:
    """Replace, remove or add an entry of the card, its settings or its traits."""
    parts = [part for part in (card, card.get("settings"), card.get("traits")) if part]
    part = random.choice([part for part in parts if isinstance(part, dict)] or [card])
    name = random.choice([*sorted(part), "colour"])
    if random.random() < 0.1:
        part.pop(name, None)
    else:
        part[name] = random.choice(ODD)


def _header(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    told = json.loads(content[8 : 8 + length])["__metadata__"]["coterie"]
    header: dict[str, Any] = json.loads(told)
    return header


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
