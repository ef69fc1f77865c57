"""Systems that bring optimizers and hooks of their own, and sources without labels."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch
from coterie.systems import registry
from coterie.systems.learning import Learnt
from coterie.systems.traits import Traits
from coterie.training.callbacks import Schedule
from coterie.training.optimizers import make_optimizers
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.recording import WARM_UP_CALLS
from coterie.training.trainer import CHECKPOINT, WEIGHTS, train
from coterie.weights.format import load_system, load_tensors

ITEM = (1, 4, 4)


@dataclass(frozen=True)
class Pictures:
    """Unlabelled pictures, shown in epochs; nobody says how many clusters they have."""

    n_items: int = 12
    batch: int = 4

    @property
    def steps_per_epoch(self) -> int:
        return self.n_items // self.batch

    def sample(self, n_sets: int, generator: Generator, clock: Tensor) -> SetBatch:
        pictures = torch.linspace(0, 1, self.n_items * 16, device=generator.device)
        place = clock % self.steps_per_epoch * self.batch
        index = place + torch.arange(self.batch, device=generator.device)
        shown = pictures.view(-1, *ITEM)[index].expand(n_sets, -1, *ITEM)
        noise = torch.randn(shown.shape, generator=generator, device=generator.device)
        mask = torch.ones(n_sets, self.batch, dtype=torch.bool, device=generator.device)
        return SetBatch(shown + 0.1 * noise, mask)


@dataclass(frozen=True)
class FakeConfig:
    width: int = 3

    @property
    def traits(self) -> Traits:
        return Traits(ITEM)


class TwoRates(nn.Module):
    """Two parts that different optimizers train."""

    name = "two-rates"
    traits = Traits(ITEM)
    regions = ()

    def __init__(self, config: FakeConfig) -> None:
        super().__init__()
        self.config = config
        self.body = nn.Linear(16, config.width)
        self.head = nn.Linear(config.width, 16)

    def optimizers(self, config):
        on_gpu = self.body.weight.is_cuda
        slow = torch.optim.SGD(
            self.body.parameters(), config.learning_rate / 10, momentum=0.9, fused=on_gpu
        )
        return slow, torch.optim.Adam(
            self.head.parameters(), config.learning_rate, fused=on_gpu, capturable=on_gpu
        )

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Tensor:
        flat = batch.points.flatten(2)
        return (self.head(self.body(flat).tanh()) - flat).square().mean()


class Averaged(nn.Module):
    """A student, its moving average, a queue of what was seen and the mean of the last epoch."""

    name = "averaged"
    traits = Traits(ITEM)
    regions = ()

    def __init__(self, config: FakeConfig) -> None:
        super().__init__()
        self.config = config
        self.student = nn.Linear(16, config.width)
        self.teacher = nn.Linear(16, config.width).requires_grad_(False)
        self.teacher.load_state_dict(self.student.state_dict())
        self.register_buffer("queue", torch.zeros(5, config.width))
        self.register_buffer("total", torch.zeros(config.width))
        self.register_buffer("prototype", torch.zeros(config.width))

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Learnt:
        flat = batch.points.flatten(0, 1).flatten(1)
        taught = self.teacher(flat)
        found = self.student(flat)
        loss = (found - taught + 0.1 - self.queue.mean(0) - self.prototype).square().mean()
        return Learnt(loss, taught)

    def after_step(self, step: int, taught: Tensor) -> None:
        pace = min(0.9, (1 + step) / (10 + step))
        for mean, new in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
            mean.lerp_(new, 1 - pace)
        self.queue.copy_(torch.cat([taught, self.queue])[: len(self.queue)])
        self.total.add_(taught.mean(0))

    def after_epoch(self, epoch: int) -> None:
        self.prototype.copy_(self.total / (epoch + 1))
        self.total.zero_()


TRAINING = TrainingConfig(
    steps=11, sets_per_step=1, learning_rate=0.05, warmup=2, checkpoint_every=4
)
SYSTEMS = {system.name: registry.Entry(system, FakeConfig) for system in (TwoRates, Averaged)}
RECIPES = [Recipe(name, name, {"width": 3}, Pictures(), TRAINING) for name in SYSTEMS]

SLOW_RUN = """
import sys, time
sys.path.insert(0, {folder!r})
from pathlib import Path
import torch
from coterie.systems import registry
from test_hooks import RECIPES, SYSTEMS
from coterie.training.trainer import train

class Slow:
    def on_step(self, progress):
        time.sleep(600 if progress.step > 4 else 0)

torch.set_num_threads(1)
registry.SYSTEMS.update(SYSTEMS)
train(RECIPES[{index}], Path(sys.argv[1]), accelerator="cpu", callbacks=[Slow()])
"""


class Stop:
    """Ends a run right after a step."""

    def on_step(self, progress) -> None:
        if progress.step == 6:  # after a checkpoint and the end of an epoch
            raise KeyboardInterrupt


class Rates:
    """The learning rates of all optimizers, step by step."""

    def __init__(self) -> None:
        self.heard: list[list[float]] = []

    def on_step(self, progress) -> None:
        groups = [optimizer.param_groups[0] for optimizer in progress.optimizers]
        self.heard.append([float(group["lr"]) for group in groups])


@pytest.fixture(autouse=True)
def known(monkeypatch):
    for name, entry in SYSTEMS.items():
        monkeypatch.setitem(registry.SYSTEMS, name, entry)


def same_state(first, second) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_stopped_run_goes_on_to_the_same_bits(recipe, tmp_path):
    whole = train(recipe, tmp_path / "whole", accelerator="cpu")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "torn", accelerator="cpu", callbacks=[Stop()])
    resumed = train(recipe, tmp_path / "torn", resume=True, accelerator="cpu")
    assert same_state(resumed, whole)
    assert same_state(load_system(tmp_path / "torn" / WEIGHTS)[0], whole)


@pytest.mark.parametrize("index", range(len(RECIPES)), ids=list(SYSTEMS))
def test_a_killed_run_goes_on_to_the_same_bits(index, tmp_path):
    script = SLOW_RUN.format(folder=str(Path(__file__).parent), index=index)
    run = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "torn")],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    try:
        for _ in range(60_000):
            if (tmp_path / "torn" / CHECKPOINT).exists():
                break
            assert run.poll() is None, "the run ended before its first checkpoint"
            time.sleep(0.01)
    finally:
        run.kill()
        assert run.wait() == -signal.SIGKILL
    resumed = train(RECIPES[index], tmp_path / "torn", resume=True, accelerator="cpu")
    whole = train(RECIPES[index], tmp_path / "whole", accelerator="cpu")
    assert same_state(resumed, whole)


def test_a_checkpoint_holds_the_state_of_every_optimizer_and_buffer(tmp_path):
    for recipe in RECIPES:
        train(recipe, tmp_path / recipe.name, accelerator="cpu")
    names = {
        recipe.name: load_tensors(tmp_path / recipe.name / CHECKPOINT)[0] for recipe in RECIPES
    }
    assert {"optimizer.body.weight.momentum_buffer", "optimizer.head.weight.exp_avg"} <= names[
        "two-rates"
    ].keys()
    assert {"system.teacher.weight", "system.queue", "system.prototype"} <= names["averaged"].keys()


def test_the_schedule_scales_each_optimizer_from_its_own_rate(tmp_path):
    rates = Rates()
    train(RECIPES[0], tmp_path, accelerator="cpu", callbacks=[rates])
    expected = [Schedule(TRAINING).rate(step) for step in range(TRAINING.steps)]
    assert [fast for _, fast in rates.heard] == pytest.approx(expected)
    assert [slow for slow, _ in rates.heard] == pytest.approx([rate / 10 for rate in expected])


def test_all_optimizers_take_their_steps(tmp_path):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(TRAINING.seed)
        before = TwoRates(FakeConfig())
    after = train(RECIPES[0], tmp_path, accelerator="cpu")
    for part in ("body", "head"):
        assert not torch.equal(getattr(before, part).weight, getattr(after, part).weight)


def test_hooks_are_called_after_every_step_and_every_whole_epoch(tmp_path, monkeypatch):
    heard = []

    def listening(name):
        method = getattr(Averaged, name)

        def call(self, number, *kept):
            assert not torch.is_grad_enabled()
            heard.append((name, number))
            method(self, number, *kept)

        return call

    for name in ("after_step", "after_epoch"):
        monkeypatch.setattr(Averaged, name, listening(name))
    train(RECIPES[1], tmp_path, accelerator="cpu")
    expected = []
    for step in range(TRAINING.steps):
        expected.append(("after_step", step))
        if step % 3 == 2:
            expected.append(("after_epoch", step // 3))
    assert heard == expected


def test_the_clock_says_which_part_of_an_epoch_is_shown():
    source, generator = Pictures(), torch.Generator()
    quiet = [
        source.sample(1, generator.manual_seed(0), torch.tensor(step)).points for step in range(6)
    ]
    assert torch.equal(quiet[0], quiet[3])
    assert not torch.equal(quiet[0], quiet[1])


def test_a_source_without_labels_has_a_recipe_and_a_card(tmp_path):
    recipe = replace(RECIPES[1], trained_on="pictures")
    assert json.loads(json.dumps(recipe.describe()))["prior"] == {
        "name": "Pictures",
        "n_items": 12,
        "batch": 4,
    }
    train(recipe, tmp_path, accelerator="cpu")
    card = load_system(tmp_path / WEIGHTS)[1]
    assert (card.trained_on, card.sizes, card.texture) == ("pictures", None, None)
    assert card.traits == Traits(ITEM)


def test_sets_without_labels_cannot_lose_clusters():
    with pytest.raises(ValueError, match="only labelled sets of up to k_max clusters can lose"):
        replace(RECIPES[0], partly_filtered=0.5)


def test_a_rate_that_falls_at_given_steps():
    config = TrainingConfig(steps=10, learning_rate=2.0, warmup=2, falls=(4, 8))
    rates = [Schedule(config).rate(step) for step in range(10)]
    assert rates == pytest.approx([1, 2, 2, 2, 0.2, 0.2, 0.2, 0.2, 0.02, 0.02])


def test_recipes_without_falls_are_described_as_before_there_were_any():
    assert not {"falls", "fall"} & RECIPES[0].describe()["training"].keys()
    falling = replace(RECIPES[0], training=replace(TRAINING, falls=(4,)))
    assert falling.describe()["training"]["falls"] == (4,)


def test_gradients_are_clipped_unless_nobody_wants_it(tmp_path):
    clipped, free = (
        train(
            replace(RECIPES[0], training=replace(TRAINING, clip=clip)),
            tmp_path / str(clip),
            accelerator="cpu",
        )
        for clip in (1e-6, None)
    )
    assert not torch.equal(clipped.body.weight, free.body.weight)


def test_a_weight_has_one_optimizer(monkeypatch):
    system = TwoRates(FakeConfig())
    twice = [torch.optim.SGD(system.parameters(), 0.1) for _ in range(2)]
    monkeypatch.setattr(TwoRates, "optimizers", lambda self, config: twice)
    with pytest.raises(ValueError, match=r"body\.weight belongs to 2 optimizers"):
        make_optimizers(system, TRAINING)
    some = [torch.optim.SGD(system.body.parameters(), 0.1)]
    monkeypatch.setattr(TwoRates, "optimizers", lambda self, config: some)
    with pytest.raises(ValueError, match=r"head\.weight belongs to no optimizer"):
        make_optimizers(system, TRAINING)
    system.head.requires_grad_(False)
    assert make_optimizers(system, TRAINING) == tuple(some)


def test_systems_without_optimizers_have_one_adam():
    (adam,) = make_optimizers(Averaged(FakeConfig()), TRAINING)
    assert isinstance(adam, torch.optim.Adam)
    assert adam.param_groups[0]["betas"] == TRAINING.betas
    assert adam.param_groups[0]["lr"] == TRAINING.learning_rate


def test_the_rates_of_a_captured_step_are_tensors():
    optimizers = make_optimizers(TwoRates(FakeConfig()), TRAINING, capture=True)
    rates = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    assert all(isinstance(rate, Tensor) for rate in rates)
    Schedule(TRAINING).before_step(0, optimizers)
    assert [float(rate) for rate in rates] == pytest.approx([0.0025, 0.025])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_captured_run_takes_the_steps_of_one_that_is_not(recipe, tmp_path):
    states = []
    for capture in (False, True):
        training = replace(TRAINING, steps=3 * WARM_UP_CALLS, capture=capture)
        system = train(
            replace(recipe, training=training), tmp_path / str(capture), accelerator="gpu"
        )
        states.append(system.state_dict())
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-3, atol=1e-4)


def test_weight_decay_spares_biases_and_norms():
    system = registry.build("dac", {"width": 8, "heads": 2, "slots": 2})
    config = replace(TRAINING, weight_decay=0.1)
    (adam,) = make_optimizers(system, config)
    assert isinstance(adam, torch.optim.AdamW)
    decays = {weight: g["weight_decay"] for g in adam.param_groups for weight in g["params"]}
    assert len(decays) == len(list(system.parameters()))
    for name, weight in system.named_parameters():
        assert decays[weight] == (0.1 if weight.ndim > 1 else 0.0), name
    assert {g["initial_lr"] for g in adam.param_groups} == {config.learning_rate}
