"""Candidates for many labelled sets, by several processes.

    COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.generate --out runs/judge --lean

Every process draws sets until the time is up. What is kept of a set: its name and seed, and of each
candidate the features, the agreement with the others and that with the truth.
"""

import argparse
import json
import multiprocessing
import os
import time
import traceback
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from coterie.frames.standard import fit_standard
from coterie.systems.protocol import Sequential
from coterie.weights.catalogue import open_model
from judge.agreement import agreements, members_of
from judge.candidates import Candidate, classical, distinct, of_readings
from judge.episodes import Episode, Job, draw, evaluation_jobs, jobs
from judge.features import weigh
from judge.readings import read_sets
from judge.views import View, make_views, turn

Networks = list[tuple[str, Sequential, tuple[str, ...]]]  # an arm, its network, its views

WIDTH = 16
VIEWS = (
    "all",
    "axes2",
    "axes3",
    "axes4",
    "axes6",
    "axes8",
    "rank",
    "rank4",
    "unmixed2",
    "unmixed4",
    "half0",
)
NET_VIEWS = ("all", "axes2", "axes4", "axes8", "rank4", "unmixed2")
LIGHT_VIEWS = ("all", "axes2", "axes4", "axes8", "rank4", "unmixed2")  # of `--light`
CHUNK = 24  # sets whose views are read together


def read(
    network: Sequential, arm: str, names: tuple[str, ...], sets: list[tuple[View, ...]]
) -> list[list[Candidate]]:
    """The answers of a network to the views of several sets: a list of candidates for each."""
    chosen = [[view for view in views if view.name in names] for views in sets]
    if not names:
        return [[] for _ in sets]
    flat = [view.padded(WIDTH) for views in chosen for view in views]
    readings = iter(read_sets(network, flat, batch_size=32, accelerate=False))
    return [of_readings(arm, views, [next(readings) for _ in views]) for views in chosen]


def work(number: int, args: argparse.Namespace, until: float) -> None:
    """One process: its share of the jobs, until the time is up."""
    torch.set_num_threads(1)
    side = () if args.lean else LIGHT_VIEWS if args.light else VIEWS
    networks = [
        (
            "net",
            open_model(args.net, args.device)[0],
            ("all",) if args.light or args.lean else NET_VIEWS,
        ),
        ("small", open_model(args.small, args.device)[0], side),
    ]
    mine = [
        job
        for place, job in enumerate(evaluation_jobs(args.data))
        if args.evaluate and place % args.processes == number
    ]
    more = jobs(args.data, first_seed=args.seed + 100_000 * number)
    records: list[dict] = []
    while time.time() < until or mine:
        chunk = [mine.pop(0) if mine else next(more) for _ in range(args.chunk)]
        if number % 3:  # so that processes do not draw the same kinds at the same time
            next(more)
        try:
            records += candidates_of(chunk, networks, args.data)
        except Exception:
            traceback.print_exc()
        if args.save_often:
            np.savez_compressed(Path(args.out, f"weighed{number}.npz"), **pack(records))
    np.savez_compressed(Path(args.out, f"weighed{number}.npz"), **pack(records))
    print(f"process {number}: {len(records)} sets", flush=True)


def candidates_of(chunk: list[Job], networks: Networks, folder: str) -> list[dict]:
    """The candidates of several sets."""
    episodes = [draw(job, folder) for job in chunk]
    episodes = [each for each in episodes if len(each.table) >= 40]
    maps = [fit_standard(each.table, WIDTH) for each in episodes]
    units = [frame.in_units(each.table) for frame, each in zip(maps, episodes, strict=True)]
    views = [make_views(each, WIDTH, VIEWS) for each in units]
    answers: list[list[Candidate]] = [[] for _ in episodes]
    for arm, network, names in networks:
        for answer, found in zip(answers, read(network, arm, names, views), strict=True):
            answer += found
    records = []
    for episode, own, seen, answer in zip(episodes, units, views, answers, strict=True):
        proposals = [
            each.labels
            for each in answer
            if (each.arm, each.view) in (("net", "all"), ("small", "axes4"), ("small", "axes2"))
        ]
        answer += classical(seen, proposals)
        records.append(record(episode, own, distinct(answer)))
    return records


def record(episode: Episode, units: np.ndarray, candidates: list[Candidate]) -> dict:
    """What is kept of a set: the evidence on its candidates and their true agreement."""
    evidence = weigh(units, turn(units, WIDTH), candidates)
    scored = episode.truth >= 0
    true = np.stack([episode.truth, *(each.labels for each in candidates)])[:, scored]
    true = np.stack([np.unique(each, return_inverse=True)[1] for each in true])
    job = episode.job
    return {
        "meta": {
            "source": job.source,
            "name": job.name,
            "seed": job.seed,
            "shape": list(episode.table.shape),
            "k": int(true[0].max()) + 1,
            "names": [each.name for each in candidates],
        },
        "features": evidence.features,
        "agreement": np.round(100 * evidence.agreement).clip(-100, 100).astype(np.int8),
        "k": evidence.k.astype(np.int16),
        "ari": agreements(*members_of(true))[0, 1:].astype(np.float32),
    }


def pack(records: list[dict]) -> dict[str, np.ndarray]:
    """The records in a few arrays."""
    return {
        "meta": np.frombuffer(json.dumps([each["meta"] for each in records]).encode(), np.uint8),
        "features": np.concatenate([each["features"] for each in records]).astype(np.float16),
        "agreement": np.concatenate([each["agreement"].ravel() for each in records]),
        "k": np.concatenate([each["k"] for each in records]),
        "ari": np.concatenate([each["ari"] for each in records]),
        "count": np.array([len(each["k"]) for each in records]),
    }


def merge(out: Path, n_files: int) -> None:
    """The files of all processes as a few."""
    paths = sorted(out.glob("weighed*.npz"))
    together: list[dict[str, np.ndarray]] = []
    for number in range(min(n_files, len(paths))):
        parts = []
        for path in paths[number::n_files]:
            with np.load(path) as file:
                parts.append({key: file[key] for key in file.files})
        metas = [each for part in parts for each in json.loads(part["meta"].tobytes())]
        joined = {
            key: np.concatenate([part[key] for part in parts]) for key in parts[0] if key != "meta"
        }
        joined["meta"] = np.frombuffer(json.dumps(metas).encode(), np.uint8)
        together.append(joined)
    for path in paths:
        path.unlink()
    for number, joined in enumerate(together):
        np.savez_compressed(out / f"weighed{number}.npz", **joined)


def main() -> None:
    """Read the options, start the processes and join their files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--net", default="amcp-universal")
    parser.add_argument("--small", default="amcp-universal-small")
    parser.add_argument("--seconds", type=float, default=220)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--chunk", type=int, default=CHUNK)
    parser.add_argument("--save-often", action="store_true")
    parser.add_argument("--light", action="store_true", help="only the views of court.py")
    parser.add_argument("--lean", action="store_true", help="no view but that of all axes")
    parser.add_argument("--evaluate", type=int, default=1)
    args = parser.parse_args()
    if args.data is None:
        parser.error("name the folder of the tables with --data or COTERIE_DATA")
    args.out.mkdir(parents=True, exist_ok=True)
    until = time.time() + args.seconds
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work, args=(number, args, until)) for number in range(args.processes)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    merge(args.out, args.files)
    print(f"{sum(path.stat().st_size for path in args.out.iterdir()) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
