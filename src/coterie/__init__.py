"""Clustering as a forward pass.

>>> import coterie
>>> labels = coterie.cluster(X)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.importing import quick_imports

__version__ = "0.1.0"
__all__ = [
    "ACTST",
    "AMCP",
    "DAC",
    "NCP",
    "CHiGac",
    "Clustering",
    "MiCE",
    "__version__",
    "cluster",
    "load",
    "models",
    "read_images",
    "write_report",
]

if TYPE_CHECKING:
    from coterie.data.images import read_images
    from coterie.estimators.act_st import ACTST
    from coterie.estimators.amcp import AMCP
    from coterie.estimators.chigac import CHiGac
    from coterie.estimators.dac import DAC
    from coterie.estimators.loaded import load
    from coterie.estimators.mice import MiCE
    from coterie.estimators.ncp import NCP
    from coterie.estimators.registry import cluster
    from coterie.inference.result import Clustering
    from coterie.report.write import write_report
    from coterie.weights.catalogue import models

# Loaded on first use, so that `import coterie` costs nothing.
_HOMES = {
    "ACTST": "coterie.estimators.act_st",
    "AMCP": "coterie.estimators.amcp",
    "DAC": "coterie.estimators.dac",
    "NCP": "coterie.estimators.ncp",
    "CHiGac": "coterie.estimators.chigac",
    "Clustering": "coterie.inference.result",
    "MiCE": "coterie.estimators.mice",
    "cluster": "coterie.estimators.registry",
    "load": "coterie.estimators.loaded",
    "models": "coterie.weights.catalogue",
    "read_images": "coterie.data.images",
    "write_report": "coterie.report.write",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        with quick_imports():
            home = import_module(_HOMES[name])
        globals()[name] = getattr(home, name)  # which is found without asking here again
        return globals()[name]
    raise AttributeError(f"module 'coterie' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
