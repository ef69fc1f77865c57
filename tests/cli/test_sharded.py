"""`torchrun -m coterie.cli.sharded`: rows in two processes, the clusters of one."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie

pytestmark = pytest.mark.xdist_group("sharded")

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]


def torchrun(n_processes, *arguments):
    words = [*TORCHRUN, str(n_processes), "-m", "coterie.cli.sharded", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, env=environment, check=False
    )


@pytest.fixture
def files(blobs, tmp_path):
    """Three files: one cluster is in the last one alone."""
    order = np.argsort(blobs.labels == 2, kind="stable")
    paths = []
    for number, rows in enumerate(np.split(order, [120, 250])):
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table(dict(zip("xy", blobs.points[rows].T, strict=True))), paths[-1])
    return paths, blobs.points[order]


def written(folder, paths):
    tables = [pq.read_table(folder / path.name) for path in paths]
    return np.concatenate([table["cluster"].to_numpy() for table in tables])


@pytest.mark.parametrize("weights", ["amcp-mog2d", "dac-mog2d"])
def test_two_processes_find_the_clusters_of_the_whole(files, tmp_path, weights):
    paths, points = files
    run = torchrun(2, *paths, "--weights", weights, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    whole = coterie.cluster(points, weights, ending="network", **_first_look(weights))
    assert (written(tmp_path / "out", paths) == whole).all()
    assert run.stdout.strip() == "3 clusters of 150, 100, 50 rows"


def _first_look(weights):
    return {"second_look": False} if weights.startswith("amcp") else {}


def test_networks_with_landmarks_are_refused(files, tmp_path):
    run = torchrun(1, *files[0], "--weights", "amcp-universal-small", "--out", tmp_path / "out")
    assert run.returncode != 0
    assert "need all rows in one place" in run.stderr
    assert not (tmp_path / "out").exists()
