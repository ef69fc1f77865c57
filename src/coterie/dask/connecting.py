"""The workers: those of a scheduler at an address, or processes of this machine."""

import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TIMEOUT = 10.0  # seconds until a scheduler must have answered
# Of workers. Dask also has memory trimmed after each use, with which labelling takes three times
# as long.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Workers are copies of a process that has loaded what draws and labels rows, where the system can
# do so: it is loaded once for all of them, while the command loads the model.
PRELOADED = ["coterie.dask.preloaded"]
FORKED = "forkserver" in multiprocessing.get_all_start_methods()

ANY_PORT = "127.0.0.1:0"  # the usual one may be taken, of which dask warns

SETTINGS = {
    # Workers have their tasks beforehand: the scheduler's process has other things to do.
    "distributed.scheduler.worker-saturation": float("inf"),
    "distributed.scheduler.work-stealing-interval": "100ms",
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    "distributed.worker.multiprocessing-method": "forkserver" if FORKED else "spawn",
    "distributed.worker.profile.enabled": False,
}


def prepare_workers() -> None:
    """Begin to load what workers of this machine need, in a process of its own."""
    if not FORKED:
        return
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(PRELOADED)
    with _environment(ENVIRONMENT):
        forkserver.ensure_running()


@contextmanager
def connected(scheduler: str | None, n_workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of workers on this machine."""
    import dask
    from distributed import Client, LocalCluster

    if scheduler is None:
        with (
            dask.config.set(SETTINGS),
            LocalCluster(
                n_workers=n_workers or os.cpu_count(),
                threads_per_worker=2,  # one computes while another waits for the disk
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": ANY_PORT},
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConnectionError(
            f"the scheduler {scheduler} does not answer, after {TIMEOUT:.0f} seconds: {error}"
        ) from error
    with client:
        yield client


def takes_turns(client: Any) -> bool:
    """Whether only one thread of each worker may compute: the workers are those made here."""
    return client.cluster is not None


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
