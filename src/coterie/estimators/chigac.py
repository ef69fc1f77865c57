"""The estimator of the cluster-wise hierarchical generative model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.estimators.integers import Integers
from coterie.estimators.joint_draws import JointDraws
from coterie.inference.endings import EndingName
from coterie.inference.samples import draw_partitions
from coterie.systems.chigac.config import InferenceName
from coterie.systems.chigac.steps import CHiGac as CHiGacSystem
from coterie.systems.protocol import Sequential
from coterie.weights.catalogue import open_model
from coterie.weights.format import Card, WeightsError

BOUND_DRAWS = 16  # over which the bound is averaged


class CHiGac(JointDraws):
    """CHiGac (Liu, Wang, Jing 2021), a generative model of whole clusters, with trained weights.

    Each step picks a pioneer point, draws the representation of its cluster, and decides for every
    remaining row whether it joins. `fit` takes the most probable choices; `sample_partitions` draws
    all of them at random.

    Parameters
    ----------
    weights : str or Path, default="chigac-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    inference : {"eai", "ai", "semi-ai", "svi-ai", "iai"}, default="eai"
        How the variational parameters are optimised when `bound_` is computed: ergodic, amortized,
        semi-amortized, SVI initialised by the encoder, or iterative inference. The clusters do not
        depend on it. "iai" needs weights that were trained with it; these support no other.
    n_samples : int, default=16
        Number of draws of a cluster's representation over which memberships are averaged (L).
    n_clusters : int, (low, high) or None, default=None
        The number of clusters, or a range for it; None to infer it. This is a hard
        constraint: the clusters that overlap most are merged, those that look most like two are
        divided.
    min_cluster_size : int, default=1
        Clusters of fewer fitted rows are dissolved, the smallest first, and their rows move to
        their next most probable cluster. One cluster always remains; n_clusters takes precedence.
    noise : bool, default=False
        Whether rows that are more likely rejected by all clusters than claimed by any are labelled
        -1.
    columns, exclude, categorical : list of str or None, default=None
        For a data frame: the columns to cluster by, the columns to leave out, and the numeric
        columns to treat as categories. By default all columns are used except
        identifiers of the rows, constants, dates, and text without categories.
    ending : {"auto", "network", "looks"}, default="auto"
        How the final clusters are determined. "network": by the network alone. "looks", the default
        ("auto") in the plane: the network reads pairs of neighbouring clusters and each cluster
        alone again, until they no longer change; new rows take the cluster of the nearest
        rows. Weights that read images have "em" instead, which is then the default.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None for
        the default of the weights.
    whole_trace : bool, default=False
        Has no effect: the network reads every row of the sample.
    device : str, default="cpu"
        Where the network runs, for example "cuda".
    random_state : int, RandomState or None, default=None
        Determines the draws of the representations, and the sample if there are more rows than
        context_size, or sample weights. None is the same as 0.
    own_statistics : bool, default=True
        For weights that read images: whether 16 images or more are encoded with their own batch
        statistics instead of those of training. The encoding of an image then depends on all of X.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by decreasing size; -1 is noise, if requested.
    n_clusters_ : int
        k, the number of clusters, noise not counted.
    probabilities_ : ndarray (n, k)
        Memberships, given that a row belongs to one of the clusters; rows sum to 1, also those of
        noise.
    bound_ : float
        A lower bound of the log-probability of the partition found, in nats, by the inference
        strategy, for the rows on which the clusters were found; computed on access.
    k_probabilities_ : ndarray (K + 1,)
        Entry k is the probability of k clusters, within n_clusters if that is given; computed on
        first access. The network runs again on eight subsamples of the rows, and the resulting
        numbers are smoothed: a heuristic, not a posterior.
    left_out_ : tuple of LeftOut
        The columns of a data frame that are not used, with the reasons; empty for an array.
    trace_ : tuple of Step
        The rows claimed by each step, among those that the network read, and its confidence.
    clustering_ : Clustering
        All of these in one frozen object.
    fitted_ : Fitted
        The frame and the rule that label new rows; can be pickled. The rule contains the network.
    """

    system = "chigac"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **JointDraws._parameter_constraints,
        "inference": [StrOptions(set(get_args(InferenceName)))],
        "n_samples": [Integers(1)],
        "own_statistics": ["boolean"],
    }

    def __init__(
        self,
        weights: str | Path = "chigac-mog2d",
        *,
        inference: InferenceName = "eai",
        n_samples: int = 16,
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
        own_statistics: bool = True,
    ) -> None:
        self.weights = weights
        self.inference = inference
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
        self.own_statistics = own_statistics

    @property
    def bound_(self) -> float:
        """A lower bound of the log-probability of the partition, computed on every access."""
        outcome = self._fit_record("bound_").outcome
        labels: NDArray[np.intp] = self.labels_[outcome.rows]
        batch = SetBatch.single(torch.from_numpy(outcome.context).to(self.device))
        truth = torch.from_numpy(labels.astype(np.int64)).to(self.device)
        copies = batch.repeated(BOUND_DRAWS)
        given = SetBatch(copies.points, copies.mask, truth.expand(BOUND_DRAWS, -1))
        seed = check_random_state(0 if self.random_state is None else self.random_state)
        generator = Generator(self.device).manual_seed(seed.randint(2**31 - 1))
        system = cast(CHiGacSystem, open_model(self.weights, self.device, **self._changes())[0])
        return float(system.log_likelihood_bound(given, generator).mean())

    def _card(self) -> Card:
        card = super()._card()
        trained = card.settings["inference"]
        if "iai" in (self.inference, trained) and self.inference != trained:
            raise WeightsError(
                f"weights {str(self.weights)!r} were trained with inference={trained!r}, this is"
                f" {self.inference!r}: the network of 'iai' is trained with the weights, and"
                " these know no other strategy"
            )
        return card

    def _draw_partitions(self, batch: SetBatch, n_samples: int, generator: Generator) -> Tensor:
        self._card()  # refuses weights of another system
        system, _ = open_model(self.weights, self.device, draws="joint", **self._changes())
        return draw_partitions(cast(Sequential, system), batch, n_samples, generator)

    def _changes(self) -> dict[str, Any]:
        return {"inference": self.inference, "samples": self.n_samples}
