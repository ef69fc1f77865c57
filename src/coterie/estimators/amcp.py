"""The estimator of amortized mixing coupling processes."""

from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from coterie.estimators.base import AmortizedClusterer
from coterie.functional.mixing import E_STEPS, EStep
from coterie.inference.engine import InferenceConfig


class AMCP(AmortizedClusterer):
    """Amortized mixing coupling processes (Liu, Jing 2022) with trained weights.

    Parameters
    ----------
    weights : str or Path, default="amcp-mog2d"
        A shipped model's name (see `coterie.models()`) or a weights file.
    e_step : {"regular", "ot", "column"} or None, default=None
        How points and references are mixed; None is what the weights were trained with. Weights of
        "regular" and "ot" serve each other, those of "column" only itself.
    n_em_steps : int or None, default=None
        EM steps between points and references in the encoder; None is as in training.
    update_previous : bool, default=False
        Whether clusters found early are re-estimated in the light of later ones (AMCP*). Implied
        by consolidate.
    consolidate, context_size, device, random_state
        As for `coterie.DAC`.

    Attributes
    ----------
    labels_, n_clusters_, probabilities_, clustering_
        As for `coterie.DAC`.
    trace_ : what each step claimed, and how sure it was.
    """

    system = "amcp"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AmortizedClusterer._parameter_constraints,
        "e_step": [StrOptions(set(E_STEPS)), None],
        "n_em_steps": [Interval(Integral, 0, None, closed="left"), None],
        "update_previous": ["boolean"],
    }

    def __init__(
        self,
        weights: str | Path = "amcp-mog2d",
        *,
        e_step: EStep | None = None,
        n_em_steps: int | None = None,
        update_previous: bool = False,
        consolidate: bool = True,
        context_size: int = 10_000,
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.weights = weights
        self.e_step = e_step
        self.n_em_steps = n_em_steps
        self.update_previous = update_previous
        self.consolidate = consolidate
        self.context_size = context_size
        self.device = device
        self.random_state = random_state

    def _changes(self) -> dict[str, Any]:
        changes = {"e_step": self.e_step, "em_steps": self.n_em_steps}
        return {name: value for name, value in changes.items() if value is not None}

    def _inference(self) -> InferenceConfig:
        return replace(super()._inference(), update_previous=self.update_previous)
