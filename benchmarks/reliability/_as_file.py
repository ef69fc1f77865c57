"""Tables in files, and what the command line makes of them."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from numpy.random import Generator
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.data.tables.files import opened

WEIGHTS = (
    *("amcp-mog2d", "amcp-universal", "amcp-universal-small", "amcp-universal-tables"),
    *("amcp-mog2d-wide", "amcp-warped2d", "dac-mog2d", "dac-warped2d", "act_st-mog2d"),
    *("ncp-mog2d", "chigac-mog2d"),
)
SERVED, REFUSED = "labels", "refused"
SUFFIXES = (".csv", ".tsv", ".parquet", ".feather", ".jsonl", ".npy", ".csv.gz")


def write_table(table: Any, folder: Path, random: Generator) -> Path | None:
    """The table in a file of some format, None if the format has no place for it."""
    path = folder / f"table{SUFFIXES[int(random.integers(len(SUFFIXES)))]}"
    try:
        if path.suffix == ".npy":
            np.save(path, np.asarray(table), allow_pickle=False)
        else:
            _write_frame(_as_pandas(table), path)
    except Exception:  # what cannot be written cannot be read
        return None
    return path


def run_cluster(path: Path, random: Generator) -> str:
    """Cluster a file by the command line: served, refused, or how it failed."""
    weights = WEIGHTS[int(random.integers(len(WEIGHTS)))]
    return run_command(path, "cluster", str(path), "--weights", weights)


def run_command(path: Path, *arguments: str) -> str:
    """What a command that reads a file and writes another does: served, refused, or its failure.

    A refusal is one line on stderr, exit code 2, and no file. A success has written a label for
    each row, and nothing else. The input stays as it was, and no engine beneath prints anything.
    """
    before, folder = path.read_bytes(), path.parent
    there = {each.name for each in folder.iterdir()}
    out = folder / f"labelled{''.join(path.suffixes)}"
    with _engines_errors() as errors:
        result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--json"])
    new = {each.name for each in folder.iterdir()} - there
    if path.read_bytes() != before:
        return "the input was changed"
    if errors:
        return f"an engine printed {errors[0][:300]!r}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {result.exception}"[:300]
    if result.exit_code == 0:
        wanted = {out.name, "report.html"} if "--report" in arguments else {out.name}
        return _broken(result.stdout, new ^ wanted, out) or SERVED
    if result.exit_code != 2:
        return f"exit code {result.exit_code}: {result.stderr[:200]}"
    if new or result.stdout:
        return f"refused, with {new or result.stdout[:100]}"
    if not re.fullmatch(r"coterie: [^\n]+\n", result.stderr):
        return f"not one line: {result.stderr[:300]!r}"
    return REFUSED


@contextmanager
def _engines_errors() -> Iterator[list[bytes]]:
    """What is written to the stderr of the process meanwhile, past Python's: nothing, or one."""
    found: list[bytes] = []
    kept = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            yield found
            file.seek(0)
            found += [printed] if (printed := file.read()) else []
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _broken(printed: str, unexpected: set[str], out: Path) -> str:
    """What is wrong with a success, empty if nothing is; unexpected: files, or such as lack."""
    if unexpected:
        return f"wrote {unexpected} or did not"

    def refuse_constant(name: str) -> None:
        raise ValueError(f"{name} in JSON")

    try:
        told = json.loads(printed, parse_constant=refuse_constant)
    except ValueError as error:
        return f"printed no JSON: {error}"
    with opened(out) as source:
        rows = sum(len(batch.frame) for batch in source.batches())
    if rows != told["rows"]:
        return f"labels of {rows} rows, of {told['rows']}"
    return ""


def _as_pandas(table: Any) -> pd.DataFrame:
    if isinstance(table, pl.DataFrame | pa.Table | pa.RecordBatch):
        return table.to_pandas()
    return table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)


def _write_frame(frame: pd.DataFrame, path: Path) -> None:
    match path.suffix:
        case ".parquet":
            frame.to_parquet(path)
        case ".feather":
            pa.feather.write_feather(frame, path)
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".tsv":
            frame.to_csv(path, sep="\t", index=False)
        case _:
            frame.to_csv(path, index=False)
