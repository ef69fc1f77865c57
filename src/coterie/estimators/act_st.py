"""The estimator of ACT-ST."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.estimators.amortized import AmortizedClusterer
from coterie.inference.endings import EndingName


class ACTST(AmortizedClusterer):
    """A set transformer with adaptive computation time (Lee, Lee, Teh 2019, appendix A).

    It decodes all clusters at once, as the parameters of a mixture of Gaussians, and has learnt
    at how many clusters to stop. The network fails on sets with more clusters than its training
    sets; use `DAC` or `AMCP` for these.

    Parameters
    ----------
    weights : str or Path, default="act_st-mog2d"
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
        than all but one in ten thousand of its own rows.
    columns, exclude, categorical : list of str or None, default=None
        For a data frame: the columns to cluster by, the columns to leave out, and the numeric
        columns to treat as categories. By default all columns are used except
        identifiers of the rows, constants, dates, and text without categories.
    ending : {"auto", "network", "em", "consolidate"}, default="auto"
        How the final clusters are determined. "network": by the mixture with the network's own
        parameters. "em": the mixture is re-estimated, and no cluster is removed. "consolidate", the
        default ("auto"): clusters may also be dropped, merged and split by the likelihood.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None for
        the default of the weights, 10,000 for the shipped ones.
    whole_trace : bool, default=False
        Has no effect: the network takes no steps that could be traced.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Determines the sample if there are more rows than context_size, or sample weights. Without
        sample weights, rows are drawn by a hash of their values and the seed, so the same rows in
        any order give the same sample.

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
        of training. Otherwise the network runs again on eight subsamples of the rows, and the
        resulting numbers are smoothed: a heuristic, not a posterior.
    left_out_ : tuple of LeftOut
        The columns of a data frame that are not used, with the reasons; empty for an array.
    trace_ : tuple of Step
        Empty: all clusters are found at once.
    clustering_ : Clustering
        All of these in one frozen object.
    fitted_ : Fitted
        The frame and the rule that label new rows; can be pickled.
    """

    system = "act_st"

    def __init__(
        self,
        weights: str | Path = "act_st-mog2d",
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
