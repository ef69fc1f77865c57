"""Clusters in one call."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.estimators.dac import DAC


def cluster(X: ArrayLike, **settings: Any) -> NDArray[np.intp]:
    """The cluster of each row of X (n, d), 0..k-1 by falling size, with the default model.

    Settings are those of the estimator, here `DAC`.
    """
    return DAC(**settings).fit(X).labels_
