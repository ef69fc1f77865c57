"""Clusters in one call, and the estimator that goes with some weights."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.estimators.act_st import ACTST
from coterie.estimators.amcp import AMCP
from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.chigac import CHiGac
from coterie.estimators.dac import DAC
from coterie.estimators.mice import MiCE
from coterie.estimators.ncp import NCP
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError, load_card

DEFAULT = "amcp-universal"
ESTIMATORS: dict[str, type[AmortizedClusterer]] = {
    each.system: each for each in (ACTST, AMCP, CHiGac, DAC, NCP)
}
IMAGE_ESTIMATORS: dict[str, type[MiCE]] = {MiCE.system: MiCE}


def clusterer(weights: str | Path = DEFAULT, **settings: Any) -> AmortizedClusterer:
    """The estimator of the system that the weights are of, with its settings."""
    system = load_card(find(weights)).system
    if system in IMAGE_ESTIMATORS:
        raise WeightsError(
            f"weights {str(weights)!r} are for images, not for tables: use"
            f" coterie.{IMAGE_ESTIMATORS[system].__name__}({str(weights)!r})"
        )
    if system not in ESTIMATORS:
        raise WeightsError(
            f"weights {str(weights)!r} are of the system {system!r}, which has no estimator"
        )
    estimator: Any = ESTIMATORS[system]
    model: AmortizedClusterer = estimator(weights, **settings)
    return model


def reads_images(weights: str | Path) -> bool:
    """Whether the weights are for images; tables of pixels may be read too."""
    card = load_card(find(weights))
    return card.system in IMAGE_ESTIMATORS or card.traits.image is not None


def learns_one_collection(weights: str | Path) -> bool:
    """Whether the weights are of a clusterer that reads images alone and has fixed clusters."""
    return load_card(find(weights)).system in IMAGE_ESTIMATORS


def image_clusterer(weights: str | Path, **settings: Any) -> MiCE | AmortizedClusterer:
    """The estimator of weights for images, with its settings."""
    system = load_card(find(weights)).system
    if system in IMAGE_ESTIMATORS:
        return IMAGE_ESTIMATORS[system](weights, **settings)
    return clusterer(weights, **settings)


def cluster(X: ArrayLike, weights: str | Path = DEFAULT, **settings: Any) -> NDArray[np.intp]:
    """The cluster of each row of X (n, d), 0..k-1 by falling size.

    Settings are those of the estimator that goes with the weights, `AMCP` by default: for example
    `n_clusters=5`, `n_clusters=(2, 8)`, `min_cluster_size=10`, or `noise=True` for labels of -1.
    """
    labels: NDArray[np.intp] = clusterer(weights, **settings).fit(X).labels_
    return labels
