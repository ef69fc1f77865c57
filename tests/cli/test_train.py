import json
import os
import re
import resource
import signal
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.data.folder import read_folder
from coterie.data.priors.blend import Blend
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.data.priors.real_tables import load_pool
from coterie.data.priors.tables import Tables
from coterie.data.priors.universal import Universal
from coterie.files.locks import locked_folder
from coterie.ood.texture import texture_limits
from coterie.training import presets
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.trainer import CHECKPOINT, WEIGHTS
from coterie.weights.format import load_card, load_system, load_tensors, save_system

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
    training=TrainingConfig(steps=4, sets_per_step=2, warmup=1, checkpoint_every=2),
)


@pytest.fixture(autouse=True)
def only_tiny(monkeypatch, tmp_path):
    monkeypatch.setattr(presets, "PRESETS", {"tiny": TINY})
    monkeypatch.setattr(presets, "IMAGE_SET_RECIPES", {})
    few = partial(texture_limits, n_sets=100)  # instead of 2,000 for a network of a few steps
    monkeypatch.setattr("coterie.training.trainer.texture_limits", few)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    return tmp_path


def train(*arguments):
    arguments = ["train", *map(str, arguments), "--device", "cpu"]
    return CliRunner().invoke(app, arguments, prog_name="coterie")


def refused(result):
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_training_leaves_weights_and_a_log_and_says_where(tmp_path):
    result = train("tiny")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "runs" / "tiny"
    _, card = load_system(folder / WEIGHTS)
    assert card.provenance["recipe"]["name"] == "tiny"
    assert [line["step"] for line in log(folder)] == [4]
    assert f"weights runs/tiny/{WEIGHTS}" in result.stdout
    assert "log     runs/tiny/log.jsonl" in result.stdout


def test_steps_and_seed_replace_those_of_the_recipe(tmp_path):
    train("tiny", "--out", tmp_path / "a", "--steps", 3, "--seed", 5)
    _, card = load_system(tmp_path / "a" / WEIGHTS)
    assert card.provenance["recipe"]["training"]["steps"] == 3
    assert card.provenance["recipe"]["training"]["seed"] == 5
    assert card.provenance["recipe"]["training"]["warmup"] == TINY.training.warmup


def test_an_unknown_preset_is_refused_with_the_known_ones():
    assert refused(train("huge")) == "coterie: unknown preset 'huge'; known: tiny"


def test_a_checkpoint_is_not_overwritten_by_accident(tmp_path):
    train("tiny", "--out", tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes(), (tmp_path / WEIGHTS).read_bytes()
    line = refused(train("tiny", "--out", tmp_path, "--seed", 1))
    assert "already exists; add --resume" in line
    assert ((tmp_path / CHECKPOINT).read_bytes(), (tmp_path / WEIGHTS).read_bytes()) == before


@pytest.mark.parametrize("options", [[], ["--resume"]])
def test_finished_weights_without_a_checkpoint_are_not_overwritten_either(tmp_path, options):
    train("tiny", "--out", tmp_path, "--steps", 1)
    (tmp_path / CHECKPOINT).unlink()
    assert "without a checkpoint" in refused(train("tiny", "--out", tmp_path, *options))


def during(monkeypatch, step, event):
    """Let something happen in the middle of a step, counted from one."""
    sample, drawn = Recipe.sample, []

    def sampled(recipe, generator, clock):
        drawn.append(recipe)
        if len(drawn) == step:
            event()
        return sample(recipe, generator, clock)

    monkeypatch.setattr(Recipe, "sample", sampled)


def crash():
    raise RuntimeError("crash")


def test_resuming_goes_on_from_the_checkpoint(tmp_path, monkeypatch):
    train("tiny", "--out", tmp_path / "whole")
    longer = replace(TINY, training=replace(TINY.training, checkpoint_every=3))
    monkeypatch.setattr(presets, "PRESETS", {"tiny": longer})
    with monkeypatch.context() as torn:
        during(torn, 4, crash)
        train("tiny", "--out", tmp_path / "parted")
    assert load_tensors(tmp_path / "parted" / CHECKPOINT)[1]["step"] == 3
    assert not (tmp_path / "parted" / WEIGHTS).exists()
    result = train("tiny", "--out", tmp_path / "parted", "--resume")
    assert result.exit_code == 0, result.output
    whole, parted = (load_tensors(tmp_path / name / WEIGHTS)[0] for name in ("whole", "parted"))
    assert all(whole[name].equal(parted[name]) for name in whole)
    assert len(log(tmp_path / "parted")) == 1


def test_a_checkpoint_of_another_recipe_is_refused_in_one_line(tmp_path):
    train("tiny", "--out", tmp_path)
    line = refused(train("tiny", "--out", tmp_path, "--resume", "--seed", 9))
    assert "was written by another recipe" in line


@pytest.mark.parametrize("validate_every", [0, 1])
def test_a_recipe_whose_tables_are_not_there_is_refused(tmp_path, monkeypatch, validate_every):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    prior = Blend(
        Universal(n_max=30, k_max=2, columns=2),
        Tables(n_max=30, k_max=2, columns=2, widest=4, episodes=1.0),
    )
    monkeypatch.setattr(presets, "PRESETS", {"tiny": replace(TINY, prior=prior)})
    load_pool.cache_clear()
    line = refused(train("tiny", "--validate-every", validate_every))
    assert "set COTERIE_DATA to the folder that contains it" in line


def test_devices_that_are_not_there_are_refused():
    arguments = ["train", "tiny", "--device", "cuda", "--devices", "512"]
    line = refused(CliRunner().invoke(app, arguments))
    assert "CUDA devices requested: 512; available" in line


def test_further_ranks_are_silent_and_keep_no_log(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    seen = {}
    monkeypatch.setattr(
        "coterie.training.trainer.train", lambda recipe, folder, **how: seen.update(how)
    )
    result = train("tiny", "--out", tmp_path)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert seen["callbacks"] == ()


@pytest.fixture
def tables(tmp_path):
    """A folder of two labelled tables of three columns and two groups."""
    folder = tmp_path / "tables"
    folder.mkdir()
    random = np.random.default_rng(0)
    for name in ("a.csv", "b.csv"):
        rows = [
            f"{x:.3f},{y:.3f},{z:.3f},{group}"
            for group in ("left", "right")
            for x, y, z in random.normal(loc=9 * (group == "left"), size=(12, 3))
        ]
        (folder / name).write_text("\n".join(["x,y,z,side", *rows]) + "\n")
    return folder


def test_own_tables_take_the_place_of_the_recipe_s_sets(tables, tmp_path):
    result = train("tiny", "--sets", tables, "--label", "side", "--test-sets", tables)
    assert result.exit_code == 0, result.output
    weights = tmp_path / "runs" / "tiny-tables" / WEIGHTS
    _, card = load_system(weights)
    assert card.traits.columns == 4
    assert card.traits.frame == "standard"
    assert card.traits.cluster_scale == read_folder(tables, "side").cluster_scale()
    assert card.trained_on == "sets of tables: up to 2 clusters, 24 points, 4 columns"
    assert card.provenance["recipe"]["prior"]["name"] == "LabelledFolder"
    grouped = CliRunner().invoke(app, ["cluster", str(tables / "a.csv"), "--weights", str(weights)])
    assert grouped.exit_code == 0, grouped.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--sets", "nowhere"], "no folder nowhere"),
        (["--sets", "tables"], "tables/a.csv has no column 'label'"),
        (["--test-sets", "tables"], "--test-sets requires --sets"),
        (["--learning-rate", "nan"], "--learning-rate must be a number above zero, got nan"),
        (["--learning-rate", "0"], "--learning-rate must be a number above zero, got 0.0"),
        (["--start-from", "dac-mog2d"], "is not the network of recipe 'tiny'"),
        (
            ["--sets", "tables", "--label", "side", "--start-from", "amcp-universal"],
            "weights 'amcp-universal' are of the system 'amcp', recipe 'tiny' is of 'dac'",
        ),
        (["--sets", "tables", "--label", "side", "--start-from", "nobody"], "no model 'nobody'"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(tables, options, sentence):
    assert sentence in refused(train("tiny", *options))


def test_a_run_is_not_resumed_on_other_tables(tables):
    train("tiny", "--sets", tables, "--label", "side")
    more = (tables / "a.csv").read_text().replace("left", "middle", 3)
    (tables / "c.csv").write_text(more)
    line = refused(train("tiny", "--sets", tables, "--label", "side", "--resume"))
    assert "was written by another recipe" in line


def test_without_a_checkpoint_resuming_begins_anew_and_says_so(tmp_path):
    result = train("tiny", "--resume")
    assert result.exit_code == 0, result.output
    assert result.stderr == "coterie: no checkpoint in runs/tiny; training starts from scratch\n"
    assert (tmp_path / "runs" / "tiny" / WEIGHTS).is_file()
    assert train("tiny", "--resume").stderr == ""


def send(number):
    """Send this process a signal that it handles."""
    assert signal.getsignal(number) is not signal.SIG_DFL, "it would kill the tests"
    os.kill(os.getpid(), number)


@pytest.mark.usefixtures("ctrl_c", "hang_up")
@pytest.mark.parametrize(
    ("number", "word"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (signal.SIGHUP, "hung up"),
    ],
)
def test_a_signal_keeps_the_step_and_says_how_to_go_on(tmp_path, monkeypatch, number, word):
    train("tiny", "--out", tmp_path / "whole", "--seed", 3)
    with monkeypatch.context() as pressed:
        during(pressed, 3, partial(send, number))
        result = train("tiny", "--out", tmp_path / "parted", "--seed", 3)
    checkpoint = tmp_path / "parted" / CHECKPOINT
    again = f"coterie train tiny --out {tmp_path / 'parted'} --seed 3 --device cpu --resume"
    assert (result.exit_code, result.stdout) == (128 + number, "")
    assert result.stderr == f"coterie: {word}; saved {checkpoint}, continue with: {again}\n"
    assert sorted(path.name for path in checkpoint.parent.iterdir()) == [CHECKPOINT]
    assert load_tensors(checkpoint)[1]["step"] == 3
    assert not (tmp_path / "parted" / WEIGHTS).exists()
    result = CliRunner().invoke(app, again.split()[1:])
    assert result.exit_code == 0, result.output
    whole, parted = (load_tensors(tmp_path / name / WEIGHTS)[0] for name in ("whole", "parted"))
    assert all(whole[name].equal(parted[name]) for name in whole)


def test_ctrl_c_before_the_first_step_keeps_nothing_and_says_so(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.training.trainer.build", stop)
    result = train("tiny")
    assert result.exit_code == 130
    expected = "coterie: interrupted before the first checkpoint; nothing was saved\n"
    assert result.stderr == expected


def test_an_unknown_device_is_refused_in_one_line():
    line = refused(CliRunner().invoke(app, ["train", "tiny", "--device", "banana"]))
    assert "Invalid value for '--device'" in line


def test_gaps_in_the_tables_are_filled_and_said(tables):
    path = tables / "a.csv"
    header, first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([header, ",".join(["", *first.split(",")[1:]]), *rest]) + "\n")
    result = train("tiny", "--sets", tables, "--label", "side")
    assert result.exit_code == 0, result.output
    note = "missing values filled with the median: 'x' (1 value)"
    assert result.stderr == f"coterie: {path}: {note}\n"


def test_training_goes_on_from_the_same_network(tmp_path):
    train("tiny", "--out", tmp_path / "first")
    before, after = tmp_path / "first" / WEIGHTS, tmp_path / "runs" / "tiny" / WEIGHTS
    system, card = load_system(before)
    save_system(before, system, replace(card, temperature=3.0))
    result = train("tiny", "--start-from", before, "--steps", 1, "--learning-rate", 1e-5)
    assert result.exit_code == 0, result.output
    assert load_card(after).temperature == 3
    known, taught = (load_tensors(path)[0] for path in (before, after))
    apart = max((known[name] - taught[name]).abs().max() for name in known)
    assert 0 < apart <= 1.02e-5


def test_training_starts_from_weights_and_keeps_their_network(tables, tmp_path):
    train("tiny", "--out", tmp_path / "first")
    before = tmp_path / "first" / WEIGHTS
    result = train(
        *("tiny", "--sets", tables, "--label", "side", "--start-from", before, "--steps", 1),
        *("--test-sets", tables),
    )
    assert result.exit_code == 0, result.output
    after = tmp_path / "runs" / "tiny-tables" / WEIGHTS
    (known, _), (taught, card) = load_system(before), load_system(after)
    assert card.settings == load_system(before)[1].settings  # of two columns, not of four
    assert card.provenance["recipe"]["start_from"] == str(before)
    assert card.trained_on == "sets of tables: up to 2 clusters, 24 points, 2 columns"
    assert card.traits.frame == "standard"
    # One step of Adam moves a weight by the learning rate at most; a fresh network is far away.
    furthest = max(
        (one - other).abs().max()
        for one, other in zip(known.parameters(), taught.parameters(), strict=True)
    )
    assert 0 < furthest <= 1.01 * TINY.training.learning_rate


def test_sorted_images_are_sets_too(tmp_path):
    random = np.random.default_rng(0)
    for kind in ("left", "right"):
        folder = tmp_path / "images" / kind
        folder.mkdir(parents=True)
        for number in range(12):
            pixels = random.integers(0, 99, (8, 8), dtype=np.uint8)
            pixels[:, :4] += 150 * (kind == "left")
            Image.fromarray(pixels).save(folder / f"{number}.png")
    result = train("tiny", "--sets", tmp_path / "images", "--test-sets", tmp_path / "images")
    assert result.exit_code == 0, result.output
    weights = tmp_path / "runs" / "tiny-images" / WEIGHTS
    assert load_system(weights)[1].traits.columns == 16
    command = ["cluster", str(tmp_path / "images"), "--weights", str(weights)]
    assert CliRunner().invoke(app, command).exit_code == 0


def test_a_signal_while_the_card_is_measured_keeps_the_steps(tmp_path, monkeypatch):
    with monkeypatch.context() as measured:
        measured.setattr("coterie.training.trainer.sizes_of", lambda _: send(signal.SIGTERM))
        result = train("tiny", "--out", tmp_path)
    assert result.exit_code == 128 + signal.SIGTERM
    assert f"coterie: terminated; saved {tmp_path / CHECKPOINT}, continue" in result.stderr
    assert load_tensors(tmp_path / CHECKPOINT)[1]["step"] == TINY.training.steps
    assert train("tiny", "--out", tmp_path, "--resume").exit_code == 0
    assert (tmp_path / WEIGHTS).is_file()


@contextmanager
def full_disk(size):
    """No file can grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_ends_in_one_line_and_leaves_the_checkpoint(tmp_path, monkeypatch):
    with full_disk(8192):
        line = refused(train("tiny", "--out", tmp_path))
    stopped = f"coterie: {tmp_path / CHECKPOINT}: File too large; training stopped"
    assert line == f"{stopped} before the first checkpoint; nothing was saved"
    with monkeypatch.context() as torn:
        during(torn, 3, crash)
        train("tiny", "--out", tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with full_disk(8192):
        line = refused(train("tiny", "--out", tmp_path, "--resume"))
    assert line.startswith(
        f"{stopped}; saved {tmp_path / CHECKPOINT}, continue with: coterie train"
    )
    assert line.count("--resume") == 1
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT]
    assert train("tiny", "--out", tmp_path, "--resume").exit_code == 0


def test_a_second_training_in_a_folder_is_refused_in_one_line(tmp_path):
    with locked_folder(tmp_path, "training"):
        line = refused(train("tiny", "--out", tmp_path))
    assert f"another training (process {os.getpid()}) is using the folder {tmp_path}" in line
    assert not any(tmp_path.iterdir())


def test_without_a_terminal_progress_and_scores_are_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.training.progress.FIRST_LINE", 0.0)
    monkeypatch.setattr("coterie.training.progress.NEXT_LINE", 0.0)
    result = train("tiny", "--out", tmp_path, "--validate-every", 2)
    assert result.exit_code == 0, result.output
    one, two, scores, three = result.stderr.splitlines()
    for step, line in enumerate((one, two, three), start=1):
        assert re.match(rf"step {step} of 4, loss [\d.]+, 0:00:\d\d elapsed, about 0:", line)
    form = r"ARI -?\d\.\d{3}, k off by \d+\.\d\d on 32 held-out sets"
    assert re.fullmatch(rf"step 2: {form}", scores)
    assert re.search(rf"^scores  {form}$", result.stdout, re.MULTILINE)
    assert "scores" not in train("tiny", "--out", tmp_path / "b", "--validate-every", 0).stdout
