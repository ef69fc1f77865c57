"""What draws and labels rows, imported by the process of which local workers are copies."""

from importlib import import_module

from coterie.importing import imports_to_stay

NEEDED = ("distributed", "coterie.dask.cluster", "pyarrow.parquet", "coterie.estimators.fitted")

with imports_to_stay():
    for name in NEEDED:
        import_module(name)
