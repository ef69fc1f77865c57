"""Estimators for `dask.dataframe` and `dask.array`: tables larger than one machine.

>>> from coterie.dask import AMCP
>>> labels = AMCP().fit_predict(table)  # lazy  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import dask
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "tables over several machines need dask: pip install 'coterie[dask]'", name="dask"
    ) from error

__all__ = ["ACTST", "AMCP", "DAC", "NCP", "CHiGac", "PartitionError"]

if TYPE_CHECKING:
    from coterie.dask.estimators import ACTST, AMCP, DAC, NCP, CHiGac
    from coterie.dask.partitions import PartitionError

del dask


def __getattr__(name: str) -> Any:
    # Loaded on first use: workers that only draw rows need no estimators.
    if name in __all__:
        home = "partitions" if name == "PartitionError" else "estimators"
        return getattr(import_module(f"coterie.dask.{home}"), name)
    raise AttributeError(f"module 'coterie.dask' has no attribute {name!r}")
