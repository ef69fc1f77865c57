"""Recipes: everything that decides what comes out of a training run."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.data.folder import LabelledFolder
from coterie.frames.protocol import FrameKind
from coterie.weights.catalogue import find
from coterie.weights.format import CONTEXT_SIZE, Card, load_card


class Source(Protocol):
    """Where the sets of a training run come from (a frozen dataclass).

    A source that goes through a collection in epochs also has `steps_per_epoch: int`, and its
    `sample` takes a third argument `clock`: a scalar int64 tensor on the generator's device, the
    number of the step counted from zero. It is a tensor because a captured step reads it there.
    """

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of sets on the generator's device; labels are optional."""


class Prior(Source, Protocol):
    """A distribution over labelled sets of vectors, of k_max clusters at most."""

    k_max: int


@dataclass(frozen=True)
class TrainingConfig:
    """How long, how fast and in what numbers to train."""

    steps: int = 20_000
    sets_per_step: int = 64
    learning_rate: float = 5e-4
    warmup: int = 500
    final_share: float = 0.01
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0  # of matrices and kernels, as AdamW has it
    clip: float | None = 1.0  # the norm of each optimizer's gradients; None: as they are
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    compile: bool = False  # on a GPU; on a CPU it takes minutes and gains little
    capture: bool = False  # on one GPU: a step becomes a CUDA graph, replayed without launches
    seed: int = 0
    checkpoint_every: int = 1000
    falls: tuple[int, ...] = ()  # steps at which the rate falls; none: the cosine
    fall: float = 0.1


@dataclass(frozen=True)
class Recipe:
    """A system, the sets it is shown, and how it is trained on them.

    partly_filtered: how many of the sets have lost some of their clusters, as after some steps;
    stray_points: up to which share of the points of a lost cluster stays behind;
    frame: how a table becomes what the prior draws (`Traits`);
    context_size: on how many points of a set the trained network finds clusters, by default;
    start_from: the weights that training starts from, a shipped model or a file; kept: how much of
    them stays in the weights that come out, a mean of both: what was known is not forgotten for
    what is taught; encoder_from: weights whose encoder that of images starts from: of MoCo or
    MiCE, or of another clusterer of images.
    """

    name: str
    system: str
    settings: dict[str, Any]
    prior: Any  # a Source; a field of a Protocol type would hide that it is a dataclass
    training: TrainingConfig = TrainingConfig()
    partly_filtered: float = 0.0
    stray_points: float = 0.0
    trained_on: str = ""
    frame: FrameKind = "plain"
    context_size: int = CONTEXT_SIZE
    start_from: str = ""
    kept: float = 0.0
    encoder_from: str = ""

    def __post_init__(self) -> None:
        if not self.draws_labelled_sets:
            if self.partly_filtered:
                raise ValueError(
                    f"recipe {self.name!r}: only labelled sets of up to k_max clusters can lose"
                    " clusters, and its source draws no such sets"
                )
            return
        known = self.settings.get("k_max", self.prior.k_max)
        if known != self.prior.k_max:
            raise ValueError(
                f"recipe {self.name!r}: the loss knows {known} clusters, the prior draws up to"
                f" {self.prior.k_max}"
            )

    @property
    def draws_labelled_sets(self) -> bool:
        """Whether the source is a `Prior`: it says how many clusters its sets have at most."""
        return hasattr(self.prior, "k_max")

    @property
    def steps_per_epoch(self) -> int | None:
        """How many steps go once through the source; None where it has no end."""
        return getattr(self.prior, "steps_per_epoch", None)

    def on_tables(self, prior: LabelledFolder, name: str, start_from: str = "") -> "Recipe":
        """The same network and training on somebody's own sets; or the network of some weights."""
        settings = {
            **self.settings,
            "columns": prior.columns,
            "k_max": prior.k_max,
            "cluster_scale": prior.cluster_scale(),
        }
        context_size = self.context_size
        shown, start_from = prior.k_max, start_from or self.start_from
        if start_from:
            card = self._card_of(start_from)
            settings, context_size = card.settings, card.context_size
            k_max = card.traits.k_max or prior.k_max
            shown = min(shown, k_max)
            prior = replace(prior, columns=card.traits.columns, k_max=k_max)
        return replace(
            self,
            name=name,
            settings=settings,
            prior=prior,
            start_from=start_from,
            trained_on=f"sets of {Path(prior.folder).name}: up to {shown} clusters,"
            f" {prior.n_max:,} points, {prior.columns} columns",
            frame="standard",
            context_size=context_size,
        )

    def _card_of(self, weights: str) -> Card:
        card = load_card(find(weights))
        if card.system != self.system:
            raise ValueError(
                f"weights {weights!r} are of the system {card.system!r}, recipe {self.name!r} is of"
                f" {self.system!r}"
            )
        return card

    def describe(self) -> dict[str, Any]:
        """The recipe as JSON-ready data."""
        fields = asdict(self)
        for later in (
            "start_from",
            "kept",
            "encoder_from",
        ):  # a run from before there were such fields can go on
            if not fields[later]:
                del fields[later]
        if not self.training.weight_decay:
            del fields["training"]["weight_decay"]
        if not self.training.falls:
            del fields["training"]["falls"], fields["training"]["fall"]
        return {**fields, "prior": {"name": type(self.prior).__name__, **asdict(self.prior)}}

    def sample(self, generator: Generator, clock: Tensor | None = None) -> SetBatch:
        """What the network is shown in one step, whose number is on the clock."""
        epochs = () if self.steps_per_epoch is None else (clock,)
        batch = self.prior.sample(self.training.sets_per_step, generator, *epochs)
        if self.partly_filtered:
            batch = drop_clusters(
                batch,
                self.prior.k_max,
                self.partly_filtered,
                generator,
                stray_points=self.stray_points,
            )
        return batch
