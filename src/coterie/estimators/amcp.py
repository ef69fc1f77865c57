"""The estimator of amortized mixing coupling processes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.deprecation import DEPRECATED
from coterie.estimators.integers import Integers
from coterie.functional.mixing import E_STEPS, EStep
from coterie.inference.endings import EndingName


class AMCP(AmortizedClusterer):
    """Amortized mixing coupling processes (Liu, Jing 2022) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="amcp-universal"
        A shipped model's name (see `coterie.models()`) or a weights file.
    n_clusters : int, (low, high) or None, default=None
        The number of clusters, or a range for it; None to infer it. This is a hard
        constraint: the clusters that overlap most are merged, those that look most like two are
        divided.
    min_cluster_size : int, default=1
        Clusters of fewer fitted rows are dissolved, the smallest first, and their rows move to
        their next most probable cluster. One cluster always remains; n_clusters takes precedence.
    noise : bool, default=False
        Whether outliers are labelled -1. With weights that scale the columns themselves, such
        as "amcp-universal": rows several times farther from their neighbours than the rows of the
        nearest cluster are; such rows influence neither the scaling nor the clusters. With a
        density: rows farther from every cluster than all but one in ten thousand of its own rows.
        Otherwise: rows that are more likely rejected by all clusters than claimed by any.
    columns, exclude, categorical : list of str or None, default=None
        For a data frame: the columns to cluster by, the columns to leave out, and the numeric
        columns to treat as categories. By default all columns are used except
        identifiers of the rows, constants, dates, and text without categories.
    e_step : str or None, default=None
        How points and references are mixed: "regular", "ot" or "column"; None for the setting of
        training. "regular" and "ot" are interchangeable after training, "column" is not.
    n_em_steps : int or None, default=None
        EM steps between points and references in the encoder; None for the setting of training.
    ending : {"auto", "network", "judge", "em", "consolidate"}, default="auto"
        How the final clusters are determined. "network": by the network alone. "judge": a learned
        judge chooses among the answers of several networks, k-means, mixtures of Gaussians and
        spectral clustering; it needs weights that scale the columns themselves, such as
        "amcp-universal". "em": the clusters are re-estimated jointly, and none is removed (AMCP*).
        "consolidate": clusters may also be dropped, merged and split by the likelihood. "em"
        and "consolidate" need weights with a density. "auto": "consolidate" if the weights have
        a density. For weights that scale the columns themselves, a mixture of Gaussians is
        fitted first, initialised with the network's clusters, and is the answer if it fits the
        rows; otherwise "judge" for the shipped universal weights on more than three columns, else
        "network".
    second_look : bool, default=True
        Whether the network reads each cluster again alone and may divide it: with weights that
        scale the columns themselves, such as "amcp-universal", and with those that have a density,
        unless the ending consolidates. Other weights never do: they would divide bent clusters.
    context_size : int or None, default=None
        With more rows than this the clusters are found on random samples of this size; None for
        the default of the weights: 10,000, for "amcp-universal" 2,000, with which tables of up to
        2,500 rows are read whole.
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
    consolidate, update_previous : bool
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
        first access. If the judge chose the answer, these are the judge's probabilities, and
        n_clusters_ is the most probable k unless small clusters were dissolved. If the ending
        consolidates, they follow from the evidence of k under the prior of training; if a mixture
        of Gaussians was chosen, from the evidence of the mixtures compared. Otherwise the network
        runs again on eight subsamples of the rows, which takes as long as eight fits, and the
        resulting numbers are smoothed: a heuristic tuned on sets like those of training, not a
        posterior. n_clusters_ need not be the most probable k then.
    expected_agreement_ : float or None
        The adjusted Rand index of `labels_` with the true clusters, as predicted by the judge or,
        if one was chosen, by the mixture of Gaussians; computed on first access. None for weights
        that do not scale the columns themselves, and for fewer than 40 rows.
    stability_ : float or None
        Of tables of more rows than context_size, with weights that read every set in a frame of its
        own: up to five samples are clustered, two if these agree, and vote on the answer. This is
        the mean agreement (ARI) of two of them; None where one sample was clustered, or all rows.
    runner_up_ : int or None
        Another number of clusters at least half as probable as n_clusters_, the most probable one.
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

    system = "amcp"
    # A refinement is a learnt step of EM; consolidation takes its own, on more points.
    _proposing: ClassVar[dict[str, Any]] = {"refinements": 0}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AmortizedClusterer._parameter_constraints,
        "e_step": [StrOptions(set(E_STEPS)), None],
        "n_em_steps": [Integers(0), None],
        "second_look": ["boolean"],
        "consolidate": ["boolean", StrOptions({DEPRECATED})],
        "update_previous": ["boolean", StrOptions({DEPRECATED})],
    }

    def __init__(
        self,
        weights: str | Path = "amcp-universal",
        *,
        n_clusters: int | Sequence[int] | None = None,
        min_cluster_size: int = 1,
        noise: bool = False,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        e_step: EStep | None = None,
        n_em_steps: int | None = None,
        ending: EndingName = "auto",
        second_look: bool = True,
        context_size: int | None = None,
        whole_trace: bool = False,
        device: str = "cpu",
        random_state: Any = None,
        consolidate: bool | str = DEPRECATED,
        update_previous: bool | str = DEPRECATED,
    ) -> None:
        self.weights = weights
        self.n_clusters = n_clusters
        self.min_cluster_size = min_cluster_size
        self.noise = noise
        self.columns = columns
        self.exclude = exclude
        self.categorical = categorical
        self.e_step = e_step
        self.n_em_steps = n_em_steps
        self.ending = ending
        self.second_look = second_look
        self.context_size = context_size
        self.whole_trace = whole_trace
        self.device = device
        self.random_state = random_state
        self.consolidate = consolidate
        self.update_previous = update_previous

    def _changes(self) -> dict[str, Any]:
        changes = {"e_step": self.e_step, "em_steps": self.n_em_steps}
        return {name: value for name, value in changes.items() if value is not None}
