"""The estimator of deep amortized clustering."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import StrOptions

from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.deprecation import DEPRECATED
from coterie.estimators.integers import Integers
from coterie.inference.endings import EndingName


class DAC(AmortizedClusterer):
    """Deep amortized clustering (Lee, Lee, Teh 2019) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="dac-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    n_clusters : int, (low, high) or None, default=None
        The number of clusters, or a range for it; None to infer it. This is a hard
        constraint: the clusters that overlap most are merged, those that look most like two are
        divided.
    min_cluster_size : int, default=1
        Clusters of fewer fitted rows are dissolved, the smallest first, and their rows move to
        their next most probable cluster. One cluster always remains; n_clusters takes precedence.
    noise : bool, default=False
        Whether rows that no cluster claims are labelled -1: rows farther from every cluster
        than all but one in ten thousand of its own rows; with ending="network", rows that are more
        likely rejected by all clusters than claimed by any.
    columns, exclude, categorical : list of str or None, default=None
        For a data frame: the columns to cluster by, the columns to leave out, and the numeric
        columns to treat as categories. By default all columns are used except
        identifiers of the rows, constants, dates, and text without categories.
    ending : {"auto", "network", "em", "consolidate"}, default="auto"
        How the final clusters are determined. "network": by the network alone. "em": the clusters
        are re-estimated jointly, and none is removed. "consolidate", the default ("auto") for
        weights with Gaussians or flows: clusters may also be dropped by the likelihood and, if
        they are Gaussians, merged and split.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None for
        the default of the weights, 10,000 for the shipped ones.
    whole_trace : bool, default=False
        If the ending consolidates, the network only proposes clusters, from 32 rows for each
        cluster of its largest training sets, at least 128. Whether `trace_` covers the other
        rows too, which takes longer and changes nothing else.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Determines the sample if there are more rows than context_size, or sample weights. Without
        sample weights, rows are drawn by a hash of their values and the seed, so the same rows in
        any order give the same sample.
    n_restarts : int or None, default=None
        For weights with anchored filtering, such as "dac-omniglot": the number of runs with
        different anchors, of which the most probable one is kept. None: the setting of the
        weights, 8 for "dac-omniglot". Other weights draw nothing.
    anchor : {"random", "promise"} or None, default=None
        For the same weights, the anchor of a step. "random": a row drawn from those that are left,
        as in the paper; "promise": the row whose cluster the network predicts to find best. None:
        the setting of the weights, "random" for the shipped ones.
    own_statistics : bool, default=True
        For weights that read images and were trained with the batch statistics of each set, such as
        "dac-omniglot": whether 16 images or more are encoded with their own batch statistics
        instead of those of training. The encoding of an image then depends on all of X.
    consolidate : bool
        Deprecated, use `ending`.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by decreasing size; -1 is noise, if requested. If there are more than
        100,000 rows, the frame, the clusters and their sizes are found on a sample of that size.
    n_clusters_ : int
        k, the number of clusters, noise not counted.
    probabilities_ : ndarray (n, k)
        Memberships, given that a row belongs to one of the clusters; rows sum to 1, also those of
        noise.
    k_probabilities_ : ndarray (K + 1,)
        Entry k is the probability of k clusters, within n_clusters if that is given; computed on
        first access. If the ending consolidates, it follows from the evidence of k under the prior
        of training. Otherwise the network runs again on eight subsamples of the rows, which takes
        as long as eight fits, and the resulting numbers are smoothed: a heuristic tuned on sets
        like those of training, not a posterior. n_clusters_ need not be the most probable k.
    left_out_ : tuple of LeftOut
        The columns of a data frame that are not used, with the reasons; empty for an array.
    trace_ : tuple of Step
        The rows claimed by each step, among those that the network read, and its confidence.
    clustering_ : Clustering
        All of these in one frozen object.
    fitted_ : Fitted
        The frame and the rule that label new rows; can be pickled. A rule may contain the network
        and the sample on which the clusters were found.
    """

    system = "dac"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AmortizedClusterer._parameter_constraints,
        "n_restarts": [Integers(1), None],
        "anchor": [StrOptions({"random", "promise"}), None],
        "own_statistics": ["boolean"],
        "consolidate": ["boolean", StrOptions({DEPRECATED})],
    }

    def __init__(
        self,
        weights: str | Path = "dac-mog2d",
        *,
        n_clusters: int | Sequence[int] | None = None,
        min_cluster_size: int = 1,
        noise: bool = False,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        ending: EndingName = "auto",
        context_size: int | None = None,
        whole_trace: bool = False,
        device: str = "cpu",
        random_state: Any = None,
        n_restarts: int | None = None,
        anchor: Literal["random", "promise"] | None = None,
        own_statistics: bool = True,
        consolidate: bool | str = DEPRECATED,
    ) -> None:
        self.weights = weights
        self.n_clusters = n_clusters
        self.min_cluster_size = min_cluster_size
        self.noise = noise
        self.columns = columns
        self.exclude = exclude
        self.categorical = categorical
        self.ending = ending
        self.context_size = context_size
        self.whole_trace = whole_trace
        self.device = device
        self.random_state = random_state
        self.n_restarts = n_restarts
        self.anchor = anchor
        self.own_statistics = own_statistics
        self.consolidate = consolidate

    def _changes(self) -> dict[str, Any]:
        return {} if self.anchor is None else {"anchor": self.anchor, "proposals": 1}
