"""Cluster files whose rows are spread over processes, one for each GPU, without a sample.

    torchrun --nproc-per-node 2 -m coterie.cli.sharded FILE... --weights amcp-mog2d --out FOLDER

Every process reads some of the files and holds their rows; together they run a network without
landmarks on all rows at once. Each file is written with its clusters into the folder.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed

from coterie.data.tables.files import opened
from coterie.data.tables.labelled import label_rows, refuse_labelled
from coterie.data.tables.survey import read_table
from coterie.data.tables.table import SourceError, Table
from coterie.inference.result import own_probability
from coterie.inference.sharded_fit import Shard, cluster_shard
from coterie.systems.protocol import Sequential
from coterie.weights.catalogue import open_model

EVERYTHING = 2**62  # rows


class Own(NamedTuple):
    """A file of this process, and its numbers."""

    path: Path
    table: Table


def main(arguments: Sequence[str] | None = None) -> None:
    """The command, in each of the processes that torchrun starts."""
    options = _parser().parse_args(arguments)
    device = f"cuda:{os.environ['LOCAL_RANK']}" if options.device == "cuda" else options.device
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        sizes = cluster_files(options.files, options.weights, options.out, device)
        if distributed.get_rank() == 0:
            sys.stdout.write(f"{len(sizes)} clusters of {', '.join(map(str, sizes))} rows\n")
        distributed.barrier()  # whoever leaves first would close the connection to the others
    except (SourceError, ValueError, OSError) as error:
        sys.stderr.write(f"coterie: {error}\n")
        raise SystemExit(2) from error
    finally:
        distributed.destroy_process_group()


def cluster_files(files: Sequence[Path], weights: str, out: Path, device: str) -> list[int]:
    """Cluster the rows of all files, of which this process takes its share: sizes of clusters."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    system, card = open_model(weights, device)
    if card.traits.frame != "plain" or not isinstance(system, Sequential):
        raise ValueError(
            f"weights {weights!r} need all rows in one place; use a network without landmarks, as"
            " amcp-mog2d, amcp-mog2d-wide, amcp-warped2d or dac-mog2d"
        )
    own = [_read(path, out, card.traits.columns) for path in files[rank::world]]
    _agree(own, files)
    values = np.concatenate([each.table.values for each in own])
    points = _padded(values, card.traits.columns)
    world_group = distributed.group.WORLD
    assert world_group is not None
    shard = cluster_shard(system, points, world_group, device)
    _write(own, shard, card.traits.columns, out)
    return [int(size) for size in shard.sizes]


def _read(path: Path, out: Path, width: int) -> Own:
    if (out / path.name).exists():
        raise SourceError(f"{out / path.name} exists already; name another folder")
    with opened(path) as source:
        refuse_labelled(source)
        table = read_table(source, max_rows=EVERYTHING)
    if table.filled:
        raise SourceError(f"{path} has missing values in column {table.filled[0].name!r}")
    if len(table.names) > width:
        raise SourceError(
            f"{path} has {len(table.names)} columns, and the network reads {width}: project them"
        )
    return Own(path, table)


def _agree(own: list[Own], files: Sequence[Path]) -> None:
    """Raise, in all processes, where one has no rows or other columns."""
    world = distributed.get_world_size()
    mine = own[0].table.names if own else None
    for path, table in own:
        if table.names != mine:
            raise SourceError(f"{path} has the columns {table.names} instead of {mine}")
    every: list[Any] = [None] * world
    distributed.all_gather_object(every, mine)
    if None in every:
        raise SourceError(f"{len(files)} files for {world} processes: each needs one at least")
    if len(set(every)) > 1:
        raise SourceError(f"the files have different columns: {sorted(set(every))}")


def _padded(values: NDArray[np.float64], width: int) -> NDArray[np.float32]:
    points = np.zeros((len(values), width), dtype=np.float32)
    points[:, : values.shape[1]] = values
    return points


def _write(own: list[Own], shard: Shard, width: int, out: Path) -> None:
    starts = np.cumsum([0, *(len(each.table.values) for each in own)])
    for (path, table), start in zip(own, starts[:-1], strict=True):

        def assign(rows: Any, values: Any, start: int = start) -> tuple[Any, Any]:
            labels = shard.labels[start + rows]
            points = torch.from_numpy(_padded(values, width)).to(shard.rule.device)
            probabilities = shard.rule.log_probabilities(points).exp().cpu().numpy()
            return labels, own_probability(labels, probabilities)

        with opened(path) as source:
            label_rows(source, table.encoding, assign, shard.rule.n_clusters, out / path.name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchrun -m coterie.cli.sharded", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--weights", default="amcp-mog2d", metavar="NAME")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda: one GPU for each process")
    return parser


if __name__ == "__main__":
    main()
