import json
import resource

import pytest
import torch
from torch import nn

from coterie.data.batch import SetBatch
from coterie.systems.protocol import Commit, everything_remains, nothing_left
from coterie.training.callbacks import (
    Checkpoints,
    JsonLog,
    Progress,
    Schedule,
    Validation,
    append_line,
)
from coterie.training.recipe import TrainingConfig
from coterie.weights.format import load_tensors


def progress(step: int, loss: float = 0.0) -> Progress:
    optimizer = torch.optim.Adam([nn.Parameter(torch.zeros(1))], lr=0.1 * step)
    return Progress(step, 10, torch.tensor(loss), nn.Identity(), (optimizer,))


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "log.jsonl"


def test_log_has_a_line_every_few_steps_and_at_the_end(path):
    log = JsonLog(path, every=4)
    for step in range(1, 11):
        log.on_step(progress(step))
    assert [line["step"] for line in lines(path)] == [4, 8, 10]


def test_log_says_the_mean_loss_since_the_line_before(path):
    log = JsonLog(path, every=2)
    for step, loss in enumerate([1.0, 3.0, 10.0, 20.0], start=1):
        log.on_step(progress(step, loss))
    assert [line["loss"] for line in lines(path)] == [2.0, 15.0]


def test_log_says_the_learning_rate_and_the_time(path):
    JsonLog(path, every=1).on_step(progress(3))
    (line,) = lines(path)
    assert set(line) == {"step", "loss", "learning_rate", "seconds"}
    assert line["learning_rate"] == pytest.approx(0.3)
    assert line["seconds"] >= 0


def test_log_of_a_resumed_run_is_appended(path):
    for step in (1, 2):
        JsonLog(path, every=1).on_step(progress(step))
    assert [line["step"] for line in lines(path)] == [1, 2]


class Splitter:
    """A trained network's stand-in: takes the points left of zero, then the rest."""

    def __init__(self):
        self.anchor = nn.Parameter(torch.zeros(1))

    def parameters(self):
        return iter([self.anchor])

    def start(self, batch):
        return everything_remains(batch)

    def step_limit(self, batch):
        return 64

    def finished(self, state):
        return nothing_left(state)

    def step(self, state, generator=None):
        left = state.batch.points[..., 0] < 0
        joined = state.remaining & (left if not state.commits else ~left)
        return Commit(joined, torch.zeros(joined.shape), ())


class TwoSides:
    """Two clusters on either side of zero."""

    k_max = 2

    def sample(self, n_sets, generator):
        labels = torch.tensor([0, 0, 1, 1]).expand(n_sets, -1)
        points = torch.where(labels == 0, -1.0, 1.0)[..., None]
        return SetBatch(points, torch.ones(n_sets, 4, dtype=torch.bool), labels)


def test_validation_scores_fresh_sets_every_few_steps_and_at_the_end(path):
    validation = Validation(path, TwoSides(), every=4, n_sets=3)
    for step in range(1, 11):
        validation.on_step(progress(step)._replace(system=Splitter()))
    assert lines(path) == [{"step": step, "ari": 1.0, "k_mae": 0.0} for step in (4, 8, 10)]


def test_validation_says_its_scores_and_keeps_the_last(path):
    said = []
    validation = Validation(path, TwoSides(), every=4, n_sets=3, say=said.append)
    assert validation.in_words() == "none"
    for step in range(1, 11):
        validation.on_step(progress(step)._replace(system=Splitter()))
    scores = "ARI 1.000, k off by 0.00 on 3 held-out sets"
    assert said == [f"step 4: {scores}", f"step 8: {scores}"]
    assert validation.in_words() == scores


def test_only_the_first_device_writes(path):
    other = progress(10)._replace(rank=1)
    JsonLog(path, every=1).on_step(other)
    Validation(path, TwoSides(), every=1).on_step(other)
    assert not path.exists()


def test_schedule_fills_a_rate_that_is_a_tensor_where_it_stands():
    weight, config = nn.Parameter(torch.zeros(1)), TrainingConfig(steps=10, warmup=4)
    rate = torch.tensor(config.learning_rate)
    recorded, plain = (torch.optim.Adam([weight], lr) for lr in (rate, config.learning_rate))
    for step in range(10):
        for optimizer in (recorded, plain):
            Schedule(config).before_step(step, (optimizer,))
        assert recorded.param_groups[0]["lr"] is rate
        assert float(rate) == pytest.approx(plain.param_groups[0]["lr"])
        assert plain.param_groups[0]["lr"] == Schedule(config).rate(step)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_last_checkpoint(path, recipe, wrong):
    checkpoints = Checkpoints(path, recipe)  # every five steps
    checkpoints.on_step(progress(5, 1.0))
    before = path.read_bytes()
    checkpoints.on_step(progress(9, wrong))  # nobody looks between checkpoints
    with pytest.raises(FloatingPointError, match=rf"{wrong}.* after 10 steps"):
        checkpoints.on_step(progress(10, wrong))
    assert path.read_bytes() == before


def test_weights_that_are_no_numbers_end_the_run_and_leave_the_last_checkpoint(path, recipe):
    checkpoints = Checkpoints(path, recipe)
    checkpoints.on_step(progress(5, 1.0))
    network = nn.Linear(1, 1)
    nn.init.constant_(network.bias, torch.nan)
    before, broken = path.read_bytes(), progress(10, 1.0)._replace(system=network)
    with pytest.raises(FloatingPointError, match="bias is not finite after 10 steps"):
        checkpoints.on_step(broken)
    assert path.read_bytes() == before


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_checkpoint_is_written_when_much_time_is_at_risk(path, recipe):
    """A recipe of few, slow steps never reaches its step for checkpoints."""
    clock, steps = Clock(), []
    checkpoints = Checkpoints(path, recipe, seconds=30, clock=clock)
    for step, seconds in enumerate([20, 9, 1, 29, 0, 1, 0, 31, 1], start=1):
        clock.now += seconds
        path.unlink(missing_ok=True)
        checkpoints.on_step(progress(step))
        steps += [step] * path.exists()
    assert steps == [3, 5, 8]  # 5 by the recipe, whence the time counts anew


def test_a_checkpoint_is_written_after_the_last_step(path, recipe):
    last = progress(7)._replace(steps=7)
    Checkpoints(path, recipe).on_step(last._replace(step=6))
    assert not path.exists()
    Checkpoints(path, recipe).on_step(last)
    assert load_tensors(path)[1]["step"] == 7


def test_a_line_is_written_whole_or_not_at_all(path):
    append_line(path, {"step": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, hard))
    try:
        with pytest.raises(OSError, match=r"log\.jsonl") as info:
            append_line(path, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert info.value.filename == str(path)
    append_line(path, {"step": 3})
    assert [line["step"] for line in lines(path)] == [1, 3]
