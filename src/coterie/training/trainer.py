"""The one training loop.

Every random number of a step comes from generators seeded by (seed, step, rank), one for the sets
and one for what is asked about them, so a run that was killed and resumed takes the same steps as
one that was not, and the sets of the next step can be drawn while the network learns from these.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Generator, Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.data.batch import SetBatch
from coterie.functional.fusing import fusing
from coterie.ood.size import sizes_of
from coterie.ood.texture import texture_limits
from coterie.systems.registry import build
from coterie.training.callbacks import Checkpoints, Progress, Schedule, require_finite
from coterie.training.checkpoint import load_checkpoint
from coterie.training.recipe import Recipe
from coterie.training.recording import Recording
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError, load_card, load_system, make_card, save_system

CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"


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
        callbacks=[Schedule(config), Checkpoints(folder / CHECKPOINT, recipe), *callbacks],
    )
    fabric.launch()
    on_gpu = fabric.device.type == "cuda"
    capture = config.capture and on_gpu and devices == 1
    system = _fresh_system(recipe)
    objective = _Objective(system, mixed=config.precision == "bf16-mixed")
    rate = torch.tensor(config.learning_rate, device=fabric.device)  # read by a recorded step
    optimizer = torch.optim.Adam(
        system.parameters(),
        rate if capture else config.learning_rate,
        betas=config.betas,
        fused=on_gpu,
        capturable=capture,
    )
    objective, optimizer = fabric.setup(objective, optimizer)
    sets, questions = (torch.Generator(fabric.device) for _ in range(2))

    def learn(batch: SetBatch) -> Tensor:
        loss: Tensor = objective(batch.points, batch.mask, batch.labels, questions)
        optimizer.zero_grad()
        fabric.backward(loss)
        fabric.clip_gradients(
            objective, optimizer, max_norm=config.clip, error_if_nonfinite=not capture
        )
        optimizer.step()
        return loss.detach()

    def seed(generator: Generator, step: int) -> None:
        generator.manual_seed(step_seed(config.seed, step, fabric.global_rank))

    def draw() -> SetBatch:
        return recipe.sample(sets)

    recording = Recording(draw, learn, (sets, questions)) if capture else None

    def update(step: int) -> Tensor:
        seed(questions, ~step)
        if recording is None:
            seed(sets, step)
            return learn(draw())
        if recording.batch is None:
            seed(sets, step)
            recording.begin()
        seed(sets, step + 1)
        return recording.replay()

    first = _resume(folder / CHECKPOINT, recipe, system, optimizer) if resume else 0
    objective.train()
    with _fast_kernels(fabric.device), _compiled(system, config.compile and on_gpu):
        for step in range(first, config.steps):
            fabric.call("before_step", step, optimizer)
            loss = update(step)
            progress = Progress(step + 1, config.steps, loss, system, optimizer, fabric.global_rank)
            fabric.call("on_step", progress)
    system.eval()
    require_finite(system, config.steps)
    _keep(recipe, system)
    if fabric.is_global_zero:
        card = make_card(
            system,
            trained_on=recipe.trained_on,
            scaling=recipe.scaling,
            context_size=recipe.context_size,
            sizes=sizes_of(recipe.prior) if recipe.scaling == "none" else None,
            texture=texture_limits(recipe.prior) if recipe.scaling == "robust" else None,
            temperature=_temperature(recipe),
            recipe=recipe.describe(),
        )
        save_system(folder / WEIGHTS, system, card)
    fabric.call("on_end", system)
    return system


def step_seed(seed: int, step: int, rank: int) -> int:
    """The seed of one step: the same for a resumed run, different on every rank."""
    return int(((seed * 1_000_003 + step) * 1_009 + rank) % (2**63))


class _Objective(nn.Module):
    """A system whose forward pass is its loss, so that it can be wrapped and compiled.

    Mixed precision is set here: Fabric's would round the sets too, to three digits, and points
    that lie close together would share their place.
    """

    def __init__(self, system: nn.Module, *, mixed: bool) -> None:
        super().__init__()
        self.system, self.mixed = system, mixed

    def forward(self, points: Tensor, mask: Tensor, labels: Tensor, generator: Generator) -> Tensor:
        with torch.autocast(points.device.type, torch.bfloat16, enabled=self.mixed):
            loss: Tensor = self.system.loss(SetBatch(points, mask, labels), generator)  # type: ignore[operator]
        return loss


def _fresh_system(recipe: Recipe) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.training.seed)
        system = build(recipe.system, recipe.settings)
    if recipe.start_from:
        known, card = load_system(find(recipe.start_from))
        if card.system != recipe.system or known.config != system.config:
            raise WeightsError(
                f"{recipe.start_from} is another network than recipe {recipe.name!r} builds, so its"
                " training cannot start from it"
            )
        system.load_state_dict(known.state_dict())
    return system


def _keep(recipe: Recipe, system: nn.Module) -> None:
    """Take the weights back some of the way to those that training started from."""
    if not (recipe.start_from and recipe.kept):
        return
    before = load_system(find(recipe.start_from))[0].state_dict()
    with torch.no_grad():
        for name, weight in system.named_parameters():
            weight.lerp_(before[name].to(weight), recipe.kept)


def _temperature(recipe: Recipe) -> float:
    """That of the weights which training started from; a new network is believed as it is."""
    return load_card(find(recipe.start_from)).temperature if recipe.start_from else 1.0


def _resume(path: Path, recipe: Recipe, system: nn.Module, optimizer: Any) -> int:
    if not path.is_file():
        return 0
    return load_checkpoint(path, system, optimizer, recipe=recipe.describe())


@contextmanager
def _fast_kernels(device: torch.device) -> Iterator[None]:
    """On a GPU: TF32 matrix products, and attention as two of them; restored afterwards.

    A few slots over a thousand points leave the fused attention kernels idle, and the plain form is
    the faster one (`benchmarks/training_speed.py`). In bfloat16 the flash kernel is faster still.
    """
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
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
        with fusing(compiled):
            yield
    finally:
        for name in system.regions if compiled else ():
            delattr(system, name)
