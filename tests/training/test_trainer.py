import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from coterie.files.locks import InUseError, locked_folder
from coterie.systems.amcp.steps import AMCP
from coterie.systems.registry import build
from coterie.training import trainer
from coterie.training.callbacks import Schedule
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.recording import WARM_UP_CALLS
from coterie.training.trainer import CHECKPOINT, WEIGHTS, step_seed, train
from coterie.weights.format import WeightsError, load_system, load_tensors

SCHEDULE = TrainingConfig(steps=100, learning_rate=2.0, warmup=10, final_share=0.1)

# A run that takes its time once it has written its first checkpoint.
SLOW_RUN = """
import sys, time
from pathlib import Path
import torch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.trainer import train

class Slow:
    def on_step(self, progress):
        time.sleep(600 if progress.step > recipe.training.checkpoint_every else 0)

torch.set_num_threads(1)
recipe = {recipe!r}
train(recipe, Path(sys.argv[1]), accelerator="cpu", callbacks=[Slow()])
"""


class Losses:
    """Remembers what a run told its callbacks."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.ended = False

    def on_step(self, progress) -> None:
        self.steps.append(progress.step)
        self.losses.append(progress.loss.item())
        self.rates.append(progress.learning_rate)

    def on_end(self, system) -> None:
        self.ended = True


class Interrupted:
    """Ends a run right after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, progress) -> None:
        if progress.step == self.step:
            raise KeyboardInterrupt


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def uninterrupted(recipe, tmp_path_factory) -> nn.Module:
    return train(recipe, tmp_path_factory.mktemp("run"), accelerator="cpu")


def test_mixed_precision_leaves_the_sets_as_they_are(recipe, tmp_path, monkeypatch):
    """In bfloat16 points that lie close together would share their place."""
    seen = []

    def loss(self, batch, generator=None):
        products = batch.points @ batch.points.mT
        seen.append((batch.points, products.dtype))
        return next(self.parameters()).sum()

    network = type(build(recipe.system, recipe.settings))
    monkeypatch.setattr(network, "loss", loss)
    for precision in ("32-true", "bf16-mixed"):
        config = replace(recipe.training, steps=1, precision=precision)
        train(replace(recipe, training=config), tmp_path / precision, accelerator="cpu")
    (exact, full), (mixed, half) = seen
    assert torch.equal(exact, mixed)
    assert (full, half) == (torch.float32, torch.bfloat16)


def test_learning_rate_warms_up_linearly():
    rates = [Schedule(SCHEDULE).rate(step) for step in range(10)]
    assert rates == pytest.approx([0.2 * (step + 1) for step in range(10)])


def test_learning_rate_falls_from_its_peak_to_its_final_share():
    rates = [Schedule(SCHEDULE).rate(step) for step in range(10, 101)]
    assert rates[0] == pytest.approx(2.0)
    assert rates[45] == pytest.approx(0.5 * (2.0 + 0.2))  # half way down the cosine
    assert rates[-1] == pytest.approx(0.2)
    assert rates == sorted(rates, reverse=True)


def test_learning_rate_needs_no_warm_up():
    assert Schedule(replace(SCHEDULE, warmup=0)).rate(0) == pytest.approx(2.0)


def generator_of(seed: int, step: int, rank: int, device: str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(step_seed(seed, step, rank))


def test_step_seed_is_the_same_for_the_same_step():
    first, again = (torch.rand(3, generator=generator_of(7, 11, 0)) for _ in range(2))
    assert torch.equal(first, again)


def test_step_seed_is_another_for_every_seed_step_and_rank():
    # The steps below zero are for the questions.
    every = [(seed, step, rank) for seed in range(4) for step in range(-8, 8) for rank in range(4)]
    assert len({step_seed(*which) for which in every}) == len(every)
    assert len({torch.rand(1, generator=generator_of(*which)).item() for which in every}) == len(
        every
    )


def test_step_seed_fits_a_generator_however_large_the_seed():
    assert 0 <= step_seed(2**62, 10**9, 7) < 2**63


def test_recipe_shows_partly_filtered_sets(recipe):
    generators = (generator_of(0, 0, 0) for _ in range(2))
    whole, partly = (
        replace(recipe, partly_filtered=share).sample(generator)
        for share, generator in zip((0.0, 1.0), generators, strict=True)
    )
    assert torch.equal(whole.points, partly.points)
    assert partly.mask.sum() < whole.mask.sum()


def test_training_lowers_the_loss(recipe, tmp_path):
    heard = Losses()
    longer = replace(recipe, training=replace(recipe.training, steps=80, learning_rate=5e-3))
    train(longer, tmp_path, accelerator="cpu", callbacks=[heard])
    assert sum(heard.losses[-10:]) < 0.7 * sum(heard.losses[:10])


def test_callbacks_hear_of_every_step_and_of_the_end(recipe, tmp_path):
    heard = Losses()
    train(recipe, tmp_path, accelerator="cpu", callbacks=[heard])
    assert heard.steps == list(range(1, 13))
    assert heard.rates == [Schedule(recipe.training).rate(step) for step in range(12)]
    assert heard.ended


def test_training_twice_gives_the_same_bits(recipe, tmp_path, uninterrupted):
    assert same_weights(train(recipe, tmp_path, accelerator="cpu"), uninterrupted)


def test_without_a_gpu_nothing_is_captured(recipe, tmp_path, uninterrupted):
    captured = replace(recipe, training=replace(recipe.training, capture=True))
    assert same_weights(train(captured, tmp_path, accelerator="cpu"), uninterrupted)


def anchored(recipe: Recipe) -> Recipe:
    """The same, taught by anchors: such a step draws inside the loss too."""
    network = {"width": 8, "read_width": 8, "heads": 2, "references": 2, "encoder_blocks": 1}
    taught = {"proposal": "anchor", "encode_every": 0, "coupling": True, "questions": 3}
    return replace(recipe, system="amcp", settings={"k_max": 3, **network, **taught})


def test_a_run_with_anchors_goes_on_from_its_checkpoint(recipe, tmp_path):
    recipe, heard = anchored(recipe), Losses()
    whole = train(recipe, tmp_path / "whole", accelerator="cpu", callbacks=[heard])
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "torn", accelerator="cpu", callbacks=[Interrupted(8)])
    again = Losses()
    resumed = train(recipe, tmp_path / "torn", resume=True, accelerator="cpu", callbacks=[again])
    assert again.losses == heard.losses[5:]
    assert same_weights(resumed, whole)


def test_the_sets_of_a_step_and_the_questions_about_them_have_seeds_of_their_own(
    recipe, tmp_path, monkeypatch
):
    heard = {"sets": [], "questions": []}

    def listening(kind, method):
        def call(self, first, generator):
            heard[kind].append((generator.initial_seed(), generator.get_state()))
            return method(self, first, generator)

        return call

    prior = type(recipe.prior)
    monkeypatch.setattr(AMCP, "loss", listening("questions", AMCP.loss))
    monkeypatch.setattr(prior, "sample", listening("sets", prior.sample))
    monkeypatch.setattr("coterie.training.trainer.sizes_of", lambda prior: None)  # for the card
    train(anchored(recipe), tmp_path, accelerator="cpu")
    steps = range(recipe.training.steps)
    assert [seed for seed, _ in heard["sets"]] == [step_seed(0, step, 0) for step in steps]
    assert [seed for seed, _ in heard["questions"]] == [step_seed(0, ~step, 0) for step in steps]
    for seed, state in (*heard["sets"], *heard["questions"]):  # nobody has drawn from it before
        assert torch.equal(state, torch.Generator().manual_seed(seed).get_state())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("of", [lambda recipe: recipe, anchored], ids=["dac", "anchored"])
def test_a_captured_run_takes_the_steps_of_one_that_is_not(recipe, tmp_path, of):
    runs = []
    for capture in (False, True):
        training = replace(recipe.training, steps=3 * WARM_UP_CALLS, capture=capture)
        heard = Losses()
        system = train(
            replace(of(recipe), training=training),
            tmp_path / str(capture),
            accelerator="gpu",
            callbacks=[heard],
        )
        runs.append((heard, system))
    (plain, expected), (captured, system) = runs
    assert captured.losses == pytest.approx(plain.losses, rel=1e-4, abs=1e-4)
    assert captured.rates == pytest.approx(plain.rates)
    # Not the weights one by one: where a gradient is nothing but rounding, Adam makes steps of it.
    batch = recipe.prior.sample(8, torch.Generator("cuda").manual_seed(0))
    shown = [network.loss(batch, generator_of(0, 0, 0, "cuda")) for network in (expected, system)]
    torch.testing.assert_close(*shown, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
def test_a_captured_run_goes_on_from_its_checkpoint(recipe, tmp_path):
    training = replace(recipe.training, steps=16, checkpoint_every=5, capture=True)
    recipe, heard, again = replace(anchored(recipe), training=training), Losses(), Losses()
    train(recipe, tmp_path / "whole", accelerator="gpu", callbacks=[heard])
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "torn", accelerator="gpu", callbacks=[Interrupted(8)])
    train(recipe, tmp_path / "torn", resume=True, accelerator="gpu", callbacks=[again])
    assert again.losses == pytest.approx(heard.losses[5:], abs=1e-4)


@pytest.mark.parametrize("of", [lambda recipe: recipe, anchored], ids=["dac", "anchored"])
def test_the_regions_of_a_system_are_compiled_for_the_run_alone(recipe, of, monkeypatch):
    recipe, called = of(recipe), []

    def compiled(method):
        def call(*args):
            called.append(method.__name__)
            return method(*args)

        return call

    monkeypatch.setattr(torch, "compile", compiled)
    system = build(recipe.system, recipe.settings)
    batch = recipe.sample(generator_of(0, 0, 0))
    plain = system.loss(batch, generator_of(0, 0, 0))
    assert called == []
    with trainer._compiled(system, True):
        loss = system.loss(batch, generator_of(0, 0, 0))
    assert torch.equal(loss, plain)
    expected = {"dac": ["loss"], "amcp": ["encode", "anchor_loss"]}
    assert called == expected[recipe.system]
    system.loss(batch, generator_of(0, 0, 0))
    assert called == expected[recipe.system]
    assert not any(name in vars(owner) for owner, name in system.regions)
    with trainer._compiled(system, False):
        system.loss(batch, generator_of(0, 0, 0))
    assert called == expected[recipe.system]


def test_another_seed_gives_other_weights(recipe, tmp_path, uninterrupted):
    other = replace(recipe, training=replace(recipe.training, seed=1))
    assert not same_weights(train(other, tmp_path, accelerator="cpu"), uninterrupted)


def test_training_leaves_the_global_random_state_alone(recipe, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    train(recipe, tmp_path, accelerator="cpu")
    assert torch.equal(torch.rand(1), expected)


def test_folder_receives_weights_that_open_with_their_recipe(recipe, tmp_path, uninterrupted):
    train(recipe, tmp_path, accelerator="cpu")
    system, card = load_system(tmp_path / WEIGHTS)
    assert same_weights(system, uninterrupted)
    assert card.trained_on == "toys"
    assert card.traits == system.traits
    assert card.provenance["recipe"]["training"]["steps"] == 12


def test_the_weights_know_the_frame_of_their_recipe(recipe, tmp_path):
    short = replace(recipe, frame="standard", training=replace(recipe.training, steps=1))
    train(short, tmp_path, accelerator="cpu")
    card = load_system(tmp_path / WEIGHTS)[1]
    assert card.traits.frame == card.provenance["recipe"]["frame"] == "standard"


def test_a_run_that_stopped_goes_on_from_its_checkpoint(recipe, tmp_path, uninterrupted):
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path, accelerator="cpu", callbacks=[Interrupted(8)])
    heard = Losses()
    resumed = train(recipe, tmp_path, resume=True, accelerator="cpu", callbacks=[heard])
    assert heard.steps == list(range(6, 13))  # the checkpoint was written after step 5
    assert same_weights(resumed, uninterrupted)


def test_without_resume_a_run_begins_anew(recipe, tmp_path):
    train(recipe, tmp_path, accelerator="cpu")
    heard = Losses()
    train(recipe, tmp_path, accelerator="cpu", callbacks=[heard])
    assert heard.steps[0] == 1


def test_resume_without_a_checkpoint_begins_anew(recipe, tmp_path, uninterrupted):
    assert same_weights(train(recipe, tmp_path, resume=True, accelerator="cpu"), uninterrupted)


@pytest.mark.parametrize(
    "change",
    [
        {"training": TrainingConfig(steps=99)},
        {"settings": {"width": 16, "heads": 2}},
        {"partly_filtered": 0.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_resume_with_another_recipe_is_refused(recipe, tmp_path, change):
    train(recipe, tmp_path, accelerator="cpu")
    with pytest.raises(WeightsError, match=rf"{CHECKPOINT} was written by another recipe"):
        train(replace(recipe, **change), tmp_path, resume=True, accelerator="cpu")


def test_a_killed_run_resumes_to_the_bits_of_one_that_was_not(recipe, tmp_path, uninterrupted):
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN.format(recipe=recipe), str(tmp_path)],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    try:
        _wait_for(tmp_path / CHECKPOINT, run)
    finally:
        run.kill()
        assert run.wait() == -signal.SIGKILL
    assert not (tmp_path / WEIGHTS).exists()
    heard = Losses()
    resumed = train(recipe, tmp_path, resume=True, accelerator="cpu", callbacks=[heard])
    assert heard.steps[0] > 1
    assert same_weights(resumed, uninterrupted)


def _wait_for(path: Path, run: subprocess.Popen, seconds: float = 600) -> None:
    for _ in range(int(seconds / 0.01)):
        if path.exists():
            return
        assert run.poll() is None, "the run ended before its first checkpoint"
        time.sleep(0.01)
    pytest.fail(f"no checkpoint within {seconds} s")


def test_what_is_kept_of_the_start_is_a_mean_with_what_was_learnt(recipe, tmp_path):
    before = train(recipe, tmp_path / "before", accelerator="cpu").state_dict()
    taught = replace(recipe, start_from=str(tmp_path / "before" / WEIGHTS))
    after, kept = (
        train(replace(taught, kept=share), tmp_path / str(share), accelerator="cpu").state_dict()
        for share in (0.0, 0.25)
    )
    saved = load_system(tmp_path / "0.25" / WEIGHTS)[0].state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    for name in before:
        torch.testing.assert_close(kept[name], 0.25 * before[name] + 0.75 * after[name])
        assert torch.equal(saved[name], kept[name])


def test_without_a_start_nothing_is_kept(recipe, uninterrupted, tmp_path):
    assert same_weights(
        train(replace(recipe, kept=0.5), tmp_path, accelerator="cpu"), uninterrupted
    )


def test_steps_are_kept_when_the_card_is_not_measured_to_its_end(
    recipe, tmp_path, monkeypatch, uninterrupted
):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as measured:
        measured.setattr(trainer, "sizes_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tmp_path, accelerator="cpu")
    assert load_tensors(tmp_path / CHECKPOINT)[1]["step"] == recipe.training.steps
    losses = Losses()
    resumed = train(recipe, tmp_path, resume=True, callbacks=[losses], accelerator="cpu")
    assert losses.steps == []  # nothing is done twice
    assert same_weights(resumed, uninterrupted)
    assert (tmp_path / WEIGHTS).is_file()


def test_a_folder_in_which_another_training_runs_is_refused(recipe, tmp_path):
    with (
        locked_folder(tmp_path, "training"),
        pytest.raises(InUseError, match=r"another training \(process \d+\) is using the folder"),
    ):
        train(recipe, tmp_path, accelerator="cpu")
    assert not (tmp_path / WEIGHTS).exists()
    train(recipe, tmp_path, accelerator="cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, WEIGHTS]
