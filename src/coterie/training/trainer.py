"""The one training loop.

Every random number of a step comes from a generator seeded by (seed, step, rank), so a run that was
killed and resumed takes the same steps as one that was not.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import torch
from lightning.fabric import Fabric
from torch import Generator, Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.systems.registry import build
from coterie.training.checkpoint import load_checkpoint, save_checkpoint
from coterie.weights.format import make_card, save_system

CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"


class Prior(Protocol):
    """A distribution over labelled sets (a frozen dataclass)."""

    k_max: int

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets on the generator's device."""


@dataclass(frozen=True)
class TrainingConfig:
    """How long, how fast and in what numbers to train."""

    steps: int = 20_000
    sets_per_step: int = 64
    learning_rate: float = 5e-4
    warmup: int = 500
    final_share: float = 0.01
    betas: tuple[float, float] = (0.9, 0.99)
    clip: float = 1.0
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    compile: bool = False  # on a GPU; on a CPU it takes minutes and gains little
    seed: int = 0
    checkpoint_every: int = 1000


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out of a training run."""

    name: str
    system: str
    settings: dict[str, Any]
    prior: Any  # a Prior; a field of a Protocol type would hide that it is a dataclass
    training: TrainingConfig = TrainingConfig()
    partly_filtered: float = 0.0
    trained_on: str = ""

    def describe(self) -> dict[str, Any]:
        """The recipe as JSON-ready data."""
        return {**asdict(self), "prior": {"name": type(self.prior).__name__, **asdict(self.prior)}}

    def sample(self, generator: Generator) -> SetBatch:
        """What the network is shown in one step."""
        batch = self.prior.sample(self.training.sets_per_step, generator)
        if self.partly_filtered:
            batch = drop_clusters(batch, self.prior.k_max, self.partly_filtered, generator)
        return batch


class Progress(NamedTuple):
    """What callbacks hear of after a step: loss is a scalar on the device, not yet fetched."""

    step: int
    steps: int
    loss: Tensor
    learning_rate: float
    system: nn.Module


def learning_rate(step: int, config: TrainingConfig) -> float:
    """Linear warm-up, then a cosine down to final_share of the peak."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / config.warmup
    progress = (step - config.warmup) / max(1, config.steps - config.warmup)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
    return config.learning_rate * (config.final_share + (1 - config.final_share) * cosine)


def train(
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool = False,
    callbacks: Sequence[Any] = (),
    accelerator: str = "auto",
    devices: int = 1,
) -> nn.Module:
    """Train a recipe; folder receives the checkpoint and, at the end, the weights."""
    config = recipe.training
    fabric = Fabric(
        accelerator=accelerator, devices=devices, precision=config.precision, callbacks=[*callbacks]
    )
    fabric.launch()
    system = _fresh_system(recipe)
    objective = _Objective(system)
    optimizer = torch.optim.Adam(
        system.parameters(),
        config.learning_rate,
        betas=config.betas,
        fused=fabric.device.type == "cuda",
    )
    objective, optimizer = fabric.setup(objective, optimizer)

    folder = Path(folder)
    first = _resume(folder / CHECKPOINT, recipe, system, optimizer) if resume else 0
    objective.train()
    with (
        _fast_kernels(fabric.device),
        _compiled(system, config.compile and fabric.device.type == "cuda"),
    ):
        for step in range(first, config.steps):
            generator = step_generator(config.seed, step, fabric.global_rank, fabric.device)
            rate = learning_rate(step, config)
            for group in optimizer.param_groups:
                group["lr"] = rate
            batch = recipe.sample(generator)
            loss = objective(batch.points, batch.mask, batch.labels, generator)
            fabric.backward(loss)
            fabric.clip_gradients(objective, optimizer, max_norm=config.clip)
            optimizer.step()
            optimizer.zero_grad()
            done = step + 1
            fabric.call("on_step", Progress(done, config.steps, loss.detach(), rate, system))
            if fabric.is_global_zero and (done % config.checkpoint_every == 0):
                described = recipe.describe()
                save_checkpoint(folder / CHECKPOINT, system, optimizer, step=done, recipe=described)
    system.eval()
    if fabric.is_global_zero:
        card = make_card(system, trained_on=recipe.trained_on, recipe=recipe.describe())
        save_system(folder / WEIGHTS, system, card)
    fabric.call("on_end", system)
    return system


def step_generator(seed: int, step: int, rank: int, device: torch.device | str) -> Generator:
    """The generator of one step: the same for a resumed run, different on every rank."""
    mixed = (seed * 1_000_003 + step) * 1_009 + rank
    return torch.Generator(device).manual_seed(mixed % (2**63))


class _Objective(nn.Module):
    """A system whose forward pass is its loss, so that it can be wrapped and compiled."""

    def __init__(self, system: nn.Module) -> None:
        super().__init__()
        self.system = system

    def forward(self, points: Tensor, mask: Tensor, labels: Tensor, generator: Generator) -> Tensor:
        loss: Tensor = self.system.loss(SetBatch(points, mask, labels), generator)  # type: ignore[operator]
        return loss


def _fresh_system(recipe: Recipe) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.training.seed)
        return build(recipe.system, recipe.settings)


def _resume(path: Path, recipe: Recipe, system: nn.Module, optimizer: Any) -> int:
    if not path.is_file():
        return 0
    return load_checkpoint(path, system, optimizer, recipe=recipe.describe())


@contextmanager
def _fast_kernels(device: torch.device) -> Iterator[None]:
    """On a GPU: TF32 matrix products, and attention as two of them; restored afterwards.

    A few slots over a thousand points leave the fused attention kernels idle: the plain form took
    20 ms a step where they took 38 (compiled, 256 sets of 1,000 points, H200).
    """
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _compiled(system: Any, compiled: bool) -> Iterator[None]:
    """The system's regions compiled inside, as they were afterwards.

    Regions, not the whole loss: a step that is unrolled several times is compiled once.
    """
    for name in system.regions if compiled else ():
        setattr(system, name, torch.compile(getattr(system, name)))
    try:
        yield
    finally:
        for name in system.regions if compiled else ():
            delattr(system, name)
