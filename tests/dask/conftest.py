import logging

import numpy as np
import pytest

pytest.importorskip("dask", reason="needs dask: pip install 'coterie[dask]'")
pytest.importorskip("distributed", reason="needs distributed: pip install 'coterie[dask]'")

N_WORKERS = 3


@pytest.fixture(scope="session")
def local_cluster():
    """Three worker processes and a scheduler, on this machine."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=N_WORKERS,
        threads_per_worker=1,
        dashboard_address=None,
        memory_limit=None,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(local_cluster):
    from distributed import Client

    with Client(local_cluster, set_as_default=True) as client:
        client.wait_for_workers(N_WORKERS)
        yield client


@pytest.fixture(scope="session")
def values():
    """Four blobs in three columns, some rows equal; (6000, 3) in float32."""
    draw = np.random.default_rng(3)
    centres = np.array([(0, 0, 0), (6, 0, 1), (0, 6, 2), (5, 5, -4)])
    table = centres[draw.integers(0, 4, 6000)] + draw.normal(size=(6000, 3))
    table[::11] = (3.0, 3.0, 3.0)
    table = table.astype(np.float32)
    table.flags.writeable = False
    return table
