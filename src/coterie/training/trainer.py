"""The one training loop.

Every random number of a step comes from a generator seeded by (seed, step, rank), so a run that was
killed and resumed takes the same steps as one that was not.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Generator, Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.data.batch import SetBatch
from coterie.systems.registry import build
from coterie.training.callbacks import Checkpoints, Progress, Schedule, require_finite
from coterie.training.checkpoint import load_checkpoint
from coterie.training.recipe import Recipe
from coterie.weights.format import make_card, save_system

CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"
WARM_UP_CALLS = 4  # enough for the optimiser and compiled kernels to find their memory


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
    config, folder = recipe.training, Path(folder)
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        precision=config.precision,
        callbacks=[Schedule(config), Checkpoints(folder / CHECKPOINT, recipe), *callbacks],
    )
    fabric.launch()
    on_gpu = fabric.device.type == "cuda"
    capture = config.capture and on_gpu and devices == 1
    system = _fresh_system(recipe)
    objective = _Objective(system)
    rate = torch.tensor(config.learning_rate, device=fabric.device)  # read by a recorded step
    optimizer = torch.optim.Adam(
        system.parameters(),
        rate if capture else config.learning_rate,
        betas=config.betas,
        fused=on_gpu,
        capturable=capture,
    )
    objective, optimizer = fabric.setup(objective, optimizer)
    generator = torch.Generator(fabric.device)

    def update() -> Tensor:
        batch = recipe.sample(generator)
        loss: Tensor = objective(batch.points, batch.mask, batch.labels, generator)
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(
            objective, optimizer, max_norm=config.clip, error_if_nonfinite=not capture
        )
        optimizer.step()
        return loss.detach()

    if capture:
        update = _captured(update, generator)
    first = _resume(folder / CHECKPOINT, recipe, system, optimizer) if resume else 0
    objective.train()
    with _fast_kernels(fabric.device), _compiled(system, config.compile and on_gpu):
        for step in range(first, config.steps):
            fabric.call("before_step", step, optimizer)
            generator.manual_seed(step_seed(config.seed, step, fabric.global_rank))
            loss = update()
            progress = Progress(step + 1, config.steps, loss, system, optimizer, fabric.global_rank)
            fabric.call("on_step", progress)
    system.eval()
    require_finite(system, config.steps)
    if fabric.is_global_zero:
        card = make_card(
            system,
            trained_on=recipe.trained_on,
            scaling=recipe.scaling,
            recipe=recipe.describe(),
        )
        save_system(folder / WEIGHTS, system, card)
    fabric.call("on_end", system)
    return system


def step_seed(seed: int, step: int, rank: int) -> int:
    """The seed of one step: the same for a resumed run, different on every rank."""
    return int(((seed * 1_000_003 + step) * 1_009 + rank) % (2**63))


def _captured(update: Callable[[], Tensor], generator: Generator) -> Callable[[], Tensor]:
    """The update as a CUDA graph: a few calls as they are, then one recording, replayed ever after.

    A step of small sets is hundreds of kernels of some microseconds, which a GPU runs faster than
    Python can start them. The generator is registered with the graph, so that seeding it before a
    replay decides the numbers drawn inside.
    """
    graph, calls = torch.cuda.CUDAGraph(), 0
    aside = torch.cuda.Stream()
    loss: Tensor

    def call() -> Tensor:
        nonlocal calls, loss
        calls += 1
        if calls <= WARM_UP_CALLS:
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                loss = update()
            torch.cuda.current_stream().wait_stream(aside)
            return loss
        if calls == WARM_UP_CALLS + 1:
            graph.register_generator_state(generator)
            with torch.cuda.graph(graph):
                loss = update()
        graph.replay()
        return loss.clone()

    return call


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

    A few slots over a thousand points leave the fused attention kernels idle, and the plain form is
    the faster one (`benchmarks/training_speed.py`).
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
