"""Estimators for `dask.dataframe` and `dask.array`: tables larger than one machine.

>>> from coterie.dask import AMCP
>>> labels = AMCP().fit_predict(table)  # lazy  # doctest: +SKIP
"""

try:
    import dask
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "tables over several machines need dask: pip install 'coterie[dask]'", name="dask"
    ) from error

from coterie.dask.estimators import ACTST, AMCP, DAC, NCP, CHiGac
from coterie.dask.partitions import PartitionError

__all__ = ["ACTST", "AMCP", "DAC", "NCP", "CHiGac", "PartitionError"]

del dask
