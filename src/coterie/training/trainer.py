"""The one training loop.

Every random number of a step comes from generators seeded by (seed, step, rank), one for the sets
and one for what is asked about them, so a run that was killed and resumed takes the same steps as
one that was not, and the sets of the next step can be drawn while the network learns from these.
What a system may bring to it, such as optimizers and hooks, is in `systems/learning.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Generator, Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coterie.data.batch import SetBatch
from coterie.files.locks import locked_folder
from coterie.functional.fusing import fusing
from coterie.ood.size import sizes_of
from coterie.ood.texture import texture_limits
from coterie.systems.learning import Learnt
from coterie.systems.registry import build, settings_of, traits_of
from coterie.training.callbacks import Checkpoints, Progress, Schedule, require_finite
from coterie.training.checkpoint import load_checkpoint
from coterie.training.encoded_sets import encoder_of
from coterie.training.optimizers import make_optimizers
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
    """Train a recipe; folder receives the checkpoint and, at the end, the weights.

    The folder is locked meanwhile: a second training in it is refused.
    """
    config, folder = recipe.training, Path(folder)
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        callbacks=[Schedule(config), Checkpoints(folder / CHECKPOINT, recipe), *callbacks],
    )
    fabric.launch()
    alone = locked_folder(folder, "training") if fabric.is_global_zero else nullcontext()
    with alone:
        return _follow(recipe, folder, fabric, resume=resume)


def _follow(recipe: Recipe, folder: Path, fabric: Fabric, *, resume: bool) -> nn.Module:
    """The loop over the steps, then the card."""
    config = recipe.training
    on_gpu = fabric.device.type == "cuda"
    capture = config.capture and on_gpu and fabric.world_size == 1
    system = _fresh_system(recipe).to(fabric.device)
    objective = _Objective(system, mixed=config.precision == "bf16-mixed")
    objective, *optimizers = fabric.setup(
        objective, *make_optimizers(system, config, capture=capture)
    )
    sets, questions = (torch.Generator(fabric.device) for _ in range(2))
    clock = torch.zeros((), dtype=torch.int64, device=fabric.device)

    def learn(batch: SetBatch) -> Learnt:
        learnt: Learnt = objective(batch.points, batch.mask, batch.labels, questions)
        for optimizer in optimizers:
            optimizer.zero_grad()
        fabric.backward(learnt.loss)
        for optimizer in optimizers:
            if config.clip is not None:
                fabric.clip_gradients(
                    objective, optimizer, max_norm=config.clip, error_if_nonfinite=not capture
                )
            optimizer.step()
        return learnt._replace(loss=learnt.loss.detach())

    def seed(generator: Generator, step: int) -> None:
        generator.manual_seed(step_seed(config.seed, step, fabric.global_rank))

    def next_sets(step: int) -> None:
        seed(sets, step)
        clock.fill_(step)

    def draw() -> SetBatch:
        return recipe.sample(sets, clock)

    recording = Recording(draw, learn, (sets, questions)) if capture else None

    def update(step: int) -> Learnt:
        seed(questions, ~step)
        if recording is None:
            next_sets(step)
            return learn(draw())
        if recording.batch is None:
            next_sets(step)
            recording.begin()
        next_sets(step + 1)
        return recording.replay()

    first = _resume(folder / CHECKPOINT, recipe, system, optimizers) if resume else 0
    objective.train()
    with fast_kernels(fabric.device), _compiled(system, config.compile and on_gpu):
        for step in range(first, config.steps):
            fabric.call("before_step", step, optimizers)
            learnt = update(step)
            _call_hooks(system, step, learnt.kept, recipe.steps_per_epoch)
            progress = Progress(
                step + 1, config.steps, learnt.loss, system, optimizers, fabric.global_rank
            )
            fabric.call("on_step", progress)
    system.eval()
    require_finite(system, config.steps)
    _keep(recipe, system)
    # Other sources have no sets to compare a table with.
    items = traits_of(recipe.system, recipe.settings).item_shape
    judged = recipe.draws_labelled_sets and len(items) == 1
    if fabric.is_global_zero:
        card = make_card(
            system,
            trained_on=recipe.trained_on,
            context_size=recipe.context_size,
            sizes=sizes_of(recipe.prior) if judged and recipe.frame == "plain" else None,
            texture=texture_limits(recipe.prior) if judged and recipe.frame == "standard" else None,
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

    def forward(
        self, points: Tensor, mask: Tensor, labels: Tensor | None, generator: Generator
    ) -> Learnt:
        with torch.autocast(points.device.type, torch.bfloat16, enabled=self.mixed):
            learnt: Any = self.system.loss(SetBatch(points, mask, labels), generator)  # type: ignore[operator]
        return learnt if isinstance(learnt, Learnt) else Learnt(learnt)


@torch.no_grad()
def _call_hooks(system: Any, step: int, kept: Any, steps_per_epoch: int | None) -> None:
    """The system's own hooks after a step, and after the last one of an epoch."""
    if hasattr(system, "after_step"):
        system.after_step(step, kept)
    if steps_per_epoch and (step + 1) % steps_per_epoch == 0 and hasattr(system, "after_epoch"):
        system.after_epoch(step // steps_per_epoch)


def _fresh_system(recipe: Recipe) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.training.seed)
        system = build(recipe.system, recipe.settings, recipe.frame)
    if recipe.start_from:
        known, card = load_system(find(recipe.start_from))
        if card.system != recipe.system or settings_of(known) != settings_of(system):
            raise WeightsError(
                f"{recipe.start_from} is not the network of recipe {recipe.name!r}, so training"
                " cannot start from it"
            )
        system.load_state_dict(known.state_dict())
    if recipe.encoder_from:
        _take_encoder(recipe, system)
    return system


def _take_encoder(recipe: Recipe, system: Any) -> None:
    """Start the encoder of images from that of another network, or from MoCo's or MiCE's."""
    encoder = encoder_of(recipe.encoder_from, recipe.prior.pool)
    try:
        system.item_encoder.load_state_dict(encoder.state_dict())
    except (AttributeError, RuntimeError) as error:
        raise WeightsError(
            f"the encoder of {recipe.encoder_from} does not fit recipe {recipe.name!r}: {error}"
        ) from error


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


def _resume(path: Path, recipe: Recipe, system: nn.Module, optimizers: Sequence[Any]) -> int:
    if not path.is_file():
        return 0
    return load_checkpoint(path, system, optimizers, recipe=recipe.describe())


@contextmanager
def fast_kernels(device: torch.device) -> Iterator[None]:
    """On a GPU: TF32 products and convolutions, attention as two products; restored afterwards.

    A few slots over a thousand points leave the fused attention kernels idle, and the plain form is
    the faster one (`benchmarks/training_speed.py`). In bfloat16 the flash kernel is faster still.
    """
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with (
            sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]),
            torch.backends.cudnn.flags(enabled=True, benchmark=True),  # its default is off
        ):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _compiled(system: Any, compiled: bool) -> Iterator[None]:
    """The system's regions compiled inside, as they were afterwards.

    Regions, not the whole loss: a step that is unrolled several times is compiled once.
    """
    regions = system.regions if compiled else ()
    for owner, name in regions:
        setattr(owner, name, torch.compile(getattr(owner, name)))
    try:
        with fusing(compiled):
            yield
    finally:
        for owner, name in regions:
            delattr(owner, name)
