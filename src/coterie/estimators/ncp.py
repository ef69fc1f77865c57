"""The estimator of the neural clustering process."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.estimators.answers import count_rows
from coterie.estimators.found import Found
from coterie.estimators.integers import Integers
from coterie.estimators.joint_draws import JointDraws
from coterie.inference.config import InferenceConfig
from coterie.inference.endings import Ending, EndingName
from coterie.inference.samples import LONGEST, draw_samples, in_words, require_time
from coterie.systems.protocol import PointWise
from coterie.weights.catalogue import open_model
from coterie.weights.format import Card


class NCP(JointDraws):
    """The neural clustering process (Pakman et al. 2019) with trained weights.

    It assigns the rows one after another, in random order, each to a cluster of earlier rows or to
    a new one. A run is a draw from the joint distribution of all labels; of n_samples draws the
    most probable one is kept. Time grows with rows x n_samples and is far longer than for systems
    that find whole clusters. In return, `sample_partitions` draws whole partitions.

    Parameters
    ----------
    weights : str or Path, default="ncp-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    n_samples : int, default=10
        Number of draws, made in parallel.
    n_clusters : int, (low, high) or None, default=None
        The number of clusters, or a range for it; None to infer it. This is a hard
        constraint: the clusters that overlap most are merged, those that look most like two are
        divided.
    min_cluster_size : int, default=1
        Clusters of fewer fitted rows are dissolved, the smallest first, and their rows move to
        their next most probable cluster. One cluster always remains; n_clusters takes precedence.
    noise : bool, default=False
        Whether rows for which a new cluster is more probable than any other are labelled -1.
    columns, exclude, categorical : list of str or None, default=None
        For a data frame: the columns to cluster by, the columns to leave out, and the numeric
        columns to treat as categories. By default all columns are used except
        identifiers of the rows, constants, dates, and text without categories.
    ending : {"auto", "network"}, default="auto"
        How the final clusters are determined: always by the network alone.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None for
        the default of the weights, 3,000 for the shipped ones.
    whole_trace : bool, default=False
        Has no effect: the network reads every row of the sample.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Determines the draws, and the sample if there are more rows than context_size, or sample
        weights. None is the same as 0.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by decreasing size; -1 is noise, if requested. The rows of the most probable
        draw are assigned once more, each given all others, by the rule that `predict` uses;
        clusters that become empty are dropped.
    n_clusters_ : int
        k, the number of clusters, noise not counted.
    probabilities_ : ndarray (n, k)
        The probabilities of this assignment; rows sum to 1, also those of noise.
    k_probabilities_ : ndarray (K + 1,)
        The posterior of the number of clusters: entry k is the share of the n_samples draws that
        have k clusters, within n_clusters if that is given.
    left_out_ : tuple of LeftOut
        The columns of a data frame that are not used, with the reasons; empty for an array.
    trace_ : tuple of Step
        The rows of each cluster of the most probable draw, in order of appearance, with the
        probability of each assignment when it was made.
    clustering_ : Clustering
        All of these in one frozen object.
    fitted_ : Fitted
        The frame and the rule that label new rows; can be pickled. The rule contains the network.
    """

    system = "ncp"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **JointDraws._parameter_constraints,
        "n_samples": [Integers(1)],
    }

    def __init__(
        self,
        weights: str | Path = "ncp-mog2d",
        *,
        n_samples: int = 10,
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
        self.n_samples = n_samples
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

    def _draw_partitions(self, batch: SetBatch, n_samples: int, generator: Generator) -> Tensor:
        return draw_samples(self._network(), batch, n_samples, generator).labels

    def _require_time(self, n_rows: int, n_samples: int) -> None:
        require_time(self._network(), n_rows, n_samples)

    def _network(self) -> PointWise:
        self._card()  # refuses weights of another system
        return cast(PointWise, open_model(self.weights, self.device)[0])

    def _inference(self, card: Card, ending: Ending) -> InferenceConfig:
        return replace(super()._inference(card, ending), n_samples=self.n_samples)

    def _fit_sample(self, X: Any, ending: EndingName) -> Found:
        seconds = self._network().seconds_to_label(count_rows(X))
        if seconds > LONGEST:
            raise ValueError(
                f"labelling {count_rows(X):,} rows, each of them compared with every cluster, would"
                f" take about {in_words(seconds)}; the longest allowed is {in_words(LONGEST)}. Use"
                " fewer rows, a GPU, or a system that finds whole clusters"
            )
        return super()._fit_sample(X, ending)
