"""Candidates for many labelled sets, by several processes.

    COTERIE_DATA=... PYTHONPATH=benchmarks python -m judge.generate --out runs/judge

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
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.estimators.panel import PANELS
from coterie.frames.standard import fit_standard
from coterie.inference.assignment import apply_labels
from coterie.inference.endings import Context, answer_of
from coterie.inference.proposal import propose
from coterie.judge.agreement import agreements, members_of
from coterie.judge.candidates import VIEWS, Candidate, Reading, candidates_of
from coterie.judge.features import weigh
from coterie.judge.views import make_views, turn
from coterie.systems.protocol import Sequential
from coterie.weights.catalogue import open_model
from judge.episodes import Episode, draw, evaluation_jobs, jobs, train_names

WIDTH = 16
UNSPOILT = "the networks that read the train tables: those that were not trained on them"


def work(number: int, args: argparse.Namespace, until: float) -> None:
    """One process: its share of the jobs, until the time is up."""
    torch.set_num_threads(1)
    networks = [open_model(name)[0] for name in args.networks]
    seen = set(train_names(args.data))  # by the networks that were trained on tables
    unspoilt = [open_model(name)[0] for name in args.unspoilt]
    mine = [
        job
        for place, job in enumerate(evaluation_jobs(args.data))
        if args.evaluate and place % args.processes == number
    ]
    more = jobs(args.data, first_seed=args.seed + 100_000 * number)
    records: list[dict] = []
    while time.time() < until or mine:
        job = mine.pop(0) if mine else next(more)
        try:
            episode = draw(job, args.data)
            if len(episode.table) >= 40:
                asked = unspoilt if job.name in seen else networks
                records.append(weighed(episode, asked))
        except Exception:
            traceback.print_exc()
    np.savez_compressed(Path(args.out, f"weighed{number}.npz"), **pack(records))
    print(f"process {number}: {len(records)} sets", flush=True)


def weighed(episode: Episode, networks: list[Sequential]) -> dict:
    """The candidates of one set, as the estimators make them."""
    frame = fit_standard(episode.table, WIDTH)
    units = frame.in_units(episode.table)
    context = frame(episode.table)
    readings = [read(network, context) for network in networks]
    candidates = candidates_of(make_views(units, WIDTH, VIEWS), readings)
    return record(episode, units, candidates)


def read(network: Sequential, points: np.ndarray) -> Reading:
    """What a network makes of points (n, WIDTH)."""
    batch = SetBatch.single(torch.from_numpy(points))
    proposal = propose(network, batch, Generator().manual_seed(0), second_look=True).proposal
    everyone = np.arange(len(points))
    rule = answer_of(proposal, Context(points, everyone, everyone, None, "cpu"))
    labels = np.unique(apply_labels(rule, points), return_inverse=True)[1]
    return Reading(labels.astype(np.int16), proposal.sure)


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
    parser.add_argument("--networks", nargs="+", default=PANELS["amcp-universal"])
    parser.add_argument("--unspoilt", nargs="+", default=["amcp-universal"], help=UNSPOILT)
    parser.add_argument("--seconds", type=float, default=220)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=int, default=8)
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
