"""Exported graphs give in onnxruntime what the network gives in torch."""

import json
import os
import runpy
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.export.onnx import CARRIED, ENCODER, FEATURES, STEP, WALKED, export_onnx
from coterie.frames.fitting import fit_frame
from coterie.inference.loop import find_clusters
from coterie.systems.registry import build
from coterie.weights.catalogue import models, open_model
from coterie.weights.format import make_card, save_system

pytestmark = pytest.mark.xdist_group("onnx")  # exporting takes long: once, by one worker

LOOP = Path(__file__).parents[2] / "examples" / "without_torch.py"
EXAMPLE = runpy.run_path(str(LOOP))
AMCPS = [model for model in models() if model.card.system == "amcp" and model.reads_tables]
FIRST = ("amcp-mog2d", "amcp-universal-small")  # a network of each frame
SMALL = {
    "width": 16,
    "read_width": 8,
    "heads": 2,
    "references": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 1,
    "encode_every": 0,
    "proposal": "anchor",
    "coupling": True,
}
LEAPING = {
    **SMALL,
    "decoder_blocks": 0,
    "density": "none",
    "frequencies": 2,
    "landmarks": 12,
    "proposals": 4,
    "leaps": True,
}


# Seeds whose networks find several clusters, although they have learnt nothing.
@pytest.fixture(
    scope="module",
    params=[(SMALL, 11), (LEAPING, 140)],
    ids=["small", "leaping"],
)
def small(request, tmp_path_factory):
    """The graphs of untrained networks that have between them every part that a step can have."""
    folder = tmp_path_factory.mktemp("small")
    with torch.random.fork_rng(devices=[]):
        settings, seed = request.param
        torch.manual_seed(seed)
        network = build("amcp", settings)
    weights = folder / "small.safetensors"
    save_system(weights, network, make_card(network, trained_on="nothing"))
    export_onnx(weights, folder)
    return folder


def session(folder, name):
    return onnxruntime.InferenceSession(folder / name, providers=["CPUExecutionProvider"])


def steps_of(folder, points, n_steps):
    """Claimed points and logits of the first steps, by onnxruntime."""
    encoder, step = session(folder, ENCODER), session(folder, STEP)
    names = [output.name for output in encoder.get_outputs()]
    state = dict(zip(names, encoder.run(None, {"points": points[None]}), strict=True))
    found = []
    for _ in range(n_steps):
        given = {each.name: state[each.name] for each in step.get_inputs()}
        claimed, logits, *after = step.run(None, given)
        found.append((claimed[0], logits[0]))
        state.update(zip(CARRIED, after, strict=True))
    return found


def commits_of(weights, points):
    """The same by torch."""
    batch = SetBatch.single(torch.from_numpy(points))
    return find_clusters(open_model(weights)[0], batch).commits


def assert_same_steps(folder, weights, points):
    commits = commits_of(weights, points)[:8]
    found = steps_of(folder, points, len(commits))
    for commit, (claimed, logits) in zip(commits, found, strict=True):
        np.testing.assert_allclose(
            logits, commit.membership_logits[0].numpy(), rtol=1e-3, atol=2e-4
        )
        np.testing.assert_array_equal(claimed, commit.joined[0].numpy())
    return len(commits)


@pytest.mark.parametrize("n_points", [1, 2, 7, 300])
def test_any_number_of_points_gives_the_steps_of_torch(small, n_points):
    points = np.random.default_rng(0).normal(size=(n_points, 2)).astype(np.float32)
    n_steps = assert_same_steps(small, small / "small.safetensors", points)
    assert n_steps > 1 or n_points < 300  # so that states were carried from step to step


def test_walks_are_told_only_where_there_are_landmarks(small):
    landmarks = open_model(small / "small.safetensors")[0].config.landmarks
    names = [*FEATURES, *CARRIED, *(WALKED if landmarks else ())]
    assert [output.name for output in session(small, ENCODER).get_outputs()] == names
    assert {given.name for given in session(small, STEP).get_inputs()} <= set(names)
    shapes = {given.name: given.shape for given in session(small, STEP).get_inputs()}
    if landmarks:
        assert shapes["degree"] == [1, 12]
        assert shapes["ends"][2:] == [12, 12]
        assert shapes["near"][2] == 12


def test_the_card_travels_in_the_graphs(small):
    for name in (ENCODER, STEP):
        said = session(small, name).get_modelmeta().custom_metadata_map["coterie"]
        assert json.loads(said)["trained_on"] == "nothing"


def tables():
    """Tables of every kind that a frame treats in its own way, by name."""
    random = np.random.default_rng(0)
    plain = random.normal(size=(200, 5)) + 4 * random.integers(0, 3, (200, 1))
    outlying = plain * [1, 100, 1e4, 1e-3, 1] + [0, 0, 1e6, 0, 0]
    outlying[3, 1] = 1e9
    return {
        "one column": plain[:, :1],
        "units and an outlier": outlying,
        "a constant column": np.column_stack([plain, np.full(200, 7.0)]),
        "copied columns": np.column_stack([plain, plain]),
        "more columns than rows": random.normal(size=(12, 40)),
        "symmetric": np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]),
        "equal rows": np.full((5, 3), 2.0),
    }


@pytest.mark.parametrize("kind", tables())
@pytest.mark.parametrize("model", AMCPS, ids=lambda model: model.name)
def test_the_example_frames_tables_as_the_estimator_does(model, kind):
    table, traits = tables()[kind], model.card.traits
    card = json.loads(json.dumps(asdict(model.card)))
    if traits.frame == "plain" and table.shape[1] > traits.columns:
        with pytest.raises(ValueError, match=f"columns, the network reads {traits.columns}"):
            EXAMPLE["in_frame"](table, card)
        return
    expected = fit_frame(table, traits.columns, traits.frame)(table)
    found = EXAMPLE["in_frame"](table, card)
    assert found.dtype == np.float32
    if kind in ("copied columns", "more columns than rows", "symmetric"):
        # Axes without variance, or of equal variance, are not determined; what they span is.
        expected, found = expected @ expected.T, found @ found.T
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", AMCPS, ids=lambda model: model.name)
def test_the_documented_example_runs_for_every_shipped_model(model, tmp_path, blobs):
    """And finds the clusters of the network in torch."""
    if model.name not in FIRST and not os.environ.get("COTERIE_EVERYTHING"):
        pytest.skip("takes half a minute; COTERIE_EVERYTHING=1 exports every shipped model")
    export_onnx(model.name, tmp_path)
    traits, table = model.card.traits, blobs.points
    if traits.frame == "standard":  # columns in other units, and one that says nothing
        noise = np.random.default_rng(0).normal(size=(len(table), 1))
        table = np.column_stack([table * [1e3, 1e-2] + 5, noise])
    points = fit_frame(table, traits.columns, traits.frame)(table)
    expected = np.full(len(points), -1)
    for number, commit in enumerate(commits_of(model.name, points)):
        expected[commit.joined[0].numpy()] = number
    labels = EXAMPLE["cluster"](tmp_path, table)
    np.testing.assert_array_equal(labels, expected)
    assert labels.max() >= 1  # so that states were carried from step to step
    assert_same_steps(tmp_path, model.name, points)


def test_the_loop_needs_no_torch(small, tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(size=(50, 2)))
    script = (
        f"import runpy, sys; sys.argv = ['x', {str(small)!r}, {str(tmp_path / 'points.npy')!r}];"
        f"runpy.run_path({str(LOOP)!r}, run_name='__main__'); assert 'torch' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "clusters of sizes" in run.stdout


def test_other_systems_are_refused(tmp_path):
    with pytest.raises(ValueError, match="system 'dac'; only amcp and act_st are exported"):
        export_onnx("dac-mog2d", tmp_path)


def test_networks_that_encode_anew_are_refused(tmp_path):
    network = build("amcp", {**SMALL, "encode_every": 1})
    save_system(tmp_path / "again.safetensors", network, make_card(network))
    with pytest.raises(ValueError, match="re-encodes"):
        export_onnx(tmp_path / "again.safetensors", tmp_path)
