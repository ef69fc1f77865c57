import os
import signal
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

import coterie
from coterie import cli
from coterie.cli.app import app
from coterie.cli.interruption import LastStep
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.trainer import CHECKPOINT, train
from coterie.weights.format import load_tensors

pytestmark = pytest.mark.usefixtures("ctrl_c")

TINY = Recipe(
    name="tiny",
    system="dac",
    settings={
        "columns": 2,
        "width": 8,
        "heads": 2,
        "slots": 2,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
        "k_max": 2,
    },
    prior=MixtureOfGaussians(n_max=30, k_max=2),
    training=TrainingConfig(steps=6, sets_per_step=2, warmup=1, checkpoint_every=100),
)


class PressAt:
    """Presses Ctrl+C in the middle of some steps, counted from one."""

    def __init__(self, *steps):
        self.steps, self.done = steps, []

    def before_step(self, step, optimizers):
        for _ in range(self.steps.count(step + 1)):
            os.kill(os.getpid(), signal.SIGINT)

    def on_step(self, progress):
        self.done.append(progress.step)


def interrupted(folder, *steps):
    """Train with Ctrl+C in some steps; the steps that were done."""
    press = PressAt(*steps)
    with (
        LastStep(folder / CHECKPOINT, TINY) as last_step,
        pytest.raises(KeyboardInterrupt),
    ):
        train(TINY, folder, callbacks=[last_step, press], accelerator="cpu")
    return press.done


def test_the_step_that_runs_is_finished_and_kept(tmp_path):
    assert interrupted(tmp_path, 3) == [1, 2]  # those that callbacks after it heard of
    _, header = load_tensors(tmp_path / CHECKPOINT)
    assert header["step"] == 3


def test_what_was_kept_goes_on_to_the_same_weights(tmp_path):
    whole = train(TINY, tmp_path / "whole", accelerator="cpu").state_dict()
    interrupted(tmp_path / "parted", 4)
    parted = train(TINY, tmp_path / "parted", resume=True, accelerator="cpu").state_dict()
    assert all(torch.equal(whole[name], parted[name]) for name in whole)


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    assert interrupted(tmp_path, 2, 2) == [1]
    assert not (tmp_path / CHECKPOINT).exists()


def test_the_last_step_is_kept_too(tmp_path):
    interrupted(tmp_path, 6)
    assert load_tensors(tmp_path / CHECKPOINT)[1]["step"] == 6


def test_without_ctrl_c_nothing_changes(tmp_path):
    with LastStep(tmp_path / "own" / CHECKPOINT, TINY) as last_step:
        train(TINY, tmp_path, callbacks=[last_step], accelerator="cpu")
    assert not (tmp_path / "own").exists()


def test_where_ctrl_c_is_ignored_it_stays_so(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with LastStep(tmp_path / CHECKPOINT, TINY) as last_step:
            press = PressAt(2)
            train(TINY, tmp_path, callbacks=[last_step, press], accelerator="cpu")
        assert press.done == [1, 2, 3, 4, 5, 6]
    finally:
        signal.signal(signal.SIGINT, before)


def stop(*_, **__):
    raise KeyboardInterrupt


def test_a_command_ends_in_one_line_and_leaves_nothing_behind(monkeypatch, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("x\n1\n2\n")
    monkeypatch.setattr(coterie.AMCP, "fit", stop)
    before = set(tmp_path.iterdir())
    arguments = ["cluster", str(table), "--out", str(tmp_path / "out.csv")]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "coterie: interrupted\n"
    assert set(tmp_path.iterdir()) == before


def test_labels_half_written_are_taken_away(monkeypatch, tmp_path):
    table, target = tmp_path / "table.csv", tmp_path / "out.csv"
    table.write_text("x\n" + "1\n2\n" * 50)
    target.write_text("precious")
    monkeypatch.setattr(coterie.AMCP, "predict_proba", stop)
    arguments = ["cluster", str(table), "--sample", "20", "--out", str(target)]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (130, "coterie: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "table.csv"]
    assert target.read_text() == "precious"


@pytest.mark.usefixtures("hang_up")
@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")]
)
def test_signals_take_half_written_labels_away_too(monkeypatch, tmp_path, number, word):
    def send(*_, **__):
        assert signal.getsignal(number) is not signal.SIG_DFL, "it would kill the tests"
        assert len([*tmp_path.iterdir()]) == 3
        os.kill(os.getpid(), number)

    table, target = tmp_path / "table.csv", tmp_path / "out.csv"
    table.write_text("x\n" + "1\n2\n" * 50)
    target.write_text("precious")
    monkeypatch.setattr(coterie.AMCP, "predict_proba", send)
    arguments = ["cluster", str(table), "--sample", "20", "--out", str(target)]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (128 + number, f"coterie: {word}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "table.csv"]
    assert target.read_text() == "precious"
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_so(tmp_path, monkeypatch):
    """As SIGHUP under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(coterie.AMCP, "fit", lambda *_: os.kill(os.getpid(), signal.SIGHUP))
        (tmp_path / "table.csv").write_text("x\n1\n2\n")
        result = CliRunner().invoke(app, ["cluster", str(tmp_path / "table.csv")])
        assert result.exit_code != 128 + signal.SIGHUP
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_while_options_are_read_too(monkeypatch):
    monkeypatch.setattr("typer.core.TyperGroup.parse_args", stop)
    result = CliRunner().invoke(app, ["models"])
    assert (result.exit_code, result.stderr) == (130, "coterie: interrupted\n")


def test_while_the_command_line_is_loaded_too(monkeypatch, capsys):
    class Loading:
        def find_spec(self, name, path=None, target=None):
            return stop() if name == "coterie.cli.app" else None

    monkeypatch.delitem(sys.modules, "coterie.cli.app")
    monkeypatch.delattr(cli, "app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Loading(), *sys.meta_path])
    with pytest.raises(SystemExit) as info:
        cli.main()
    assert info.value.code == 130
    assert capsys.readouterr().err == "coterie: interrupted\n"


def test_a_real_process_is_told_by_a_real_signal(tmp_path):
    """Standard input that never ends is read until Ctrl+C."""
    code = "from coterie.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "cluster", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
        # Tests that run in the background are deaf to Ctrl+C, and so would be what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        process.stdin.write("x\n" + "1\n" * 100_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.wait(60)
        assert process.returncode == 130
        assert process.stdout.read() == ""
        assert process.stderr.read() == "coterie: interrupted\n"
    assert list(tmp_path.iterdir()) == []
