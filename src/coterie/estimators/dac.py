"""The estimator of deep amortized clustering."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.estimators.amortized import AmortizedClusterer


class DAC(AmortizedClusterer):
    """Deep amortized clustering (Lee, Lee, Teh 2019) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="dac-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    n_clusters : int, (low, high) or None, default=None
        How many clusters there are to be among the fitted rows, or at least and at most; None is
        as many as are found. It is obeyed: clusters that are hard to tell apart are joined, those
        that look most like two are cut.
    min_cluster_size : int, default=1
        Clusters of fewer fitted rows are dissolved, the smallest first, and their rows take their
        next choice. One cluster always stays, and n_clusters has the last word.
    noise : bool, default=False
        Whether rows that no cluster wants are labelled -1: farther from every cluster than all but
        one in ten thousand of its own rows; without a density, more likely refused by all clusters
        than claimed by any.
    consolidate : bool, default=True
        Whether the likelihood may take clusters back that the network proposed, and reassign
        points. False leaves the clusters as the network found them.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None is
        what suits the weights, 10,000 for the shipped ones.
    whole_trace : bool, default=False
        Where clusters are consolidated the network only proposes them: it looks at 50 rows for
        each cluster of its largest training sets, and the likelihood of all rows decides. Whether
        `trace_` tells of the other rows too, which takes longer and changes nothing else.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Decides the sample where there is one, for size or for weights, and nothing else.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by falling size; -1 is noise, where that was asked for.
    n_clusters_ : int
        k, the number of clusters; noise is none.
    probabilities_ : ndarray (n, k)
        Memberships, given that a row belongs to one of the clusters; rows sum to 1, also those of
        noise.
    k_probabilities_ : ndarray (K + 1,)
        The belief in k clusters at place k, within n_clusters where these are given; computed when
        first asked for, and kept. With a density and consolidate it is the evidence of k under the
        prior of training. Else the network is asked again about eight parts of the rows, which
        takes as long as eight fits, and its answers are smeared: a rule of thumb that was tried on
        sets like those of training, no posterior. n_clusters_ need not be the most probable k.
    trace_ : tuple of Step
        What each step claimed of the rows that the network looked at, and how sure it was.
    clustering_ : Clustering
        All of these in one frozen object.
    """

    system = "dac"

    def __init__(
        self,
        weights: str | Path = "dac-mog2d",
        *,
        n_clusters: int | Sequence[int] | None = None,
        min_cluster_size: int = 1,
        noise: bool = False,
        consolidate: bool = True,
        context_size: int | None = None,
        whole_trace: bool = False,
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.weights = weights
        self.n_clusters = n_clusters
        self.min_cluster_size = min_cluster_size
        self.noise = noise
        self.consolidate = consolidate
        self.context_size = context_size
        self.whole_trace = whole_trace
        self.device = device
        self.random_state = random_state
