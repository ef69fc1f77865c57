"""The estimator of deep amortized clustering."""

from pathlib import Path
from typing import Any

from coterie.estimators.base import AmortizedClusterer


class DAC(AmortizedClusterer):
    """Deep amortized clustering (Lee, Lee, Teh 2019) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="dac-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    consolidate : bool, default=True
        Whether the likelihood may take clusters back that the network proposed, and reassign
        points. False leaves the clusters as the network found them.
    context_size : int, default=10_000
        With more rows than this the clusters are found on a random sample of this size, and every
        row is then labelled by the rule that it leaves.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Decides the sample where there is one, and nothing else.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by falling size.
    n_clusters_ : int
        k, the number of clusters found.
    probabilities_ : ndarray (n, k)
        Memberships, rows sum to 1.
    trace_ : tuple of Step
        What each step claimed, and how sure it was.
    clustering_ : Clustering
        All of these in one frozen object.
    """

    system = "dac"

    def __init__(
        self,
        weights: str | Path = "dac-mog2d",
        *,
        consolidate: bool = True,
        context_size: int = 10_000,
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.weights = weights
        self.consolidate = consolidate
        self.context_size = context_size
        self.device = device
        self.random_state = random_state
