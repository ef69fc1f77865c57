"""The estimator of amortized mixing coupling processes."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from coterie.estimators.amortized import AmortizedClusterer
from coterie.functional.mixing import E_STEPS, EStep
from coterie.inference.engine import InferenceConfig


class AMCP(AmortizedClusterer):
    """Amortized mixing coupling processes (Liu, Jing 2022) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="amcp-universal"
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
    e_step : str or None, default=None
        How points and references are mixed: "regular", "ot" or "column"; None is what the weights
        were trained with. Weights of "regular" and "ot" serve each other, those of "column" only
        itself.
    n_em_steps : int or None, default=None
        EM steps between points and references in the encoder; None is as in training.
    update_previous : bool, default=False
        Whether clusters found early are re-estimated in the light of later ones (AMCP*). Implied
        by consolidate.
    second_look : bool, default=True
        Whether each cluster is shown to the network alone, which may then divide it: with weights
        that read every set in a frame of its own, as "amcp-universal", and with those that have a
        density, where nothing is consolidated. Others never do that: on bent clusters they would
        divide too much.
    consolidate : bool, default=True
        Whether the likelihood may take clusters back, split them and reassign points.
    context_size : int or None, default=None
        With more rows than this the clusters are found on a random sample of this size; None is
        what suits the weights: 10,000, for "amcp-universal" 2,000.
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

    system = "amcp"
    # A refinement is a step of EM that was learnt; consolidation takes its own, on more points.
    _proposing: ClassVar[dict[str, Any]] = {"refinements": 0}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AmortizedClusterer._parameter_constraints,
        "e_step": [StrOptions(set(E_STEPS)), None],
        "n_em_steps": [Interval(Integral, 0, None, closed="left"), None],
        "update_previous": ["boolean"],
        "second_look": ["boolean"],
    }

    def __init__(
        self,
        weights: str | Path = "amcp-universal",
        *,
        n_clusters: int | Sequence[int] | None = None,
        min_cluster_size: int = 1,
        noise: bool = False,
        e_step: EStep | None = None,
        n_em_steps: int | None = None,
        update_previous: bool = False,
        second_look: bool = True,
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
        self.e_step = e_step
        self.n_em_steps = n_em_steps
        self.update_previous = update_previous
        self.second_look = second_look
        self.consolidate = consolidate
        self.context_size = context_size
        self.whole_trace = whole_trace
        self.device = device
        self.random_state = random_state

    def _changes(self) -> dict[str, Any]:
        changes = {"e_step": self.e_step, "em_steps": self.n_em_steps}
        return {name: value for name, value in changes.items() if value is not None}

    def _inference(self) -> InferenceConfig:
        return replace(
            super()._inference(),
            update_previous=self.update_previous,
            second_look=self.second_look,
        )
