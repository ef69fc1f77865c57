"""The exported graph of ACT-ST gives in onnxruntime what the network gives in torch."""

import json
import runpy
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from coterie.data.batch import SetBatch
from coterie.export.onnx import export_onnx
from coterie.export.onnx_mixture import MIXTURE, OUTPUTS
from coterie.systems.registry import build
from coterie.weights.catalogue import open_model
from coterie.weights.format import make_card, save_system

pytestmark = pytest.mark.xdist_group("onnx")
LOOP = Path(__file__).parents[2] / "examples" / "without_torch.py"
SMALL = {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "decoder_blocks": 1}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The graph of a network that has learnt nothing and finds several clusters."""
    system = build("act_st", SMALL)
    generator = torch.Generator().manual_seed(7)
    for parameter in system.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    with torch.no_grad():
        system.network.head.bias[0] = 3.0
    folder = tmp_path_factory.mktemp("mixture")
    weights = folder / "small.safetensors"
    save_system(weights, system, make_card(system, trained_on="nothing"))
    (written,) = export_onnx(weights, folder)
    assert written == folder / MIXTURE
    return weights, onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("n_points", [1, 2, 7, 300])
def test_any_number_of_points_gives_the_mixture_of_torch(exported, n_points):
    weights, session = exported
    points = 3 * np.random.default_rng(0).normal(size=(1, n_points, 2)).astype(np.float32)
    found = dict(zip(OUTPUTS, session.run(None, {"points": points}), strict=True))
    with torch.no_grad():
        answer = open_model(weights)[0].cluster(SetBatch.single(torch.from_numpy(points[0])))
    np.testing.assert_allclose(
        np.exp(found["log_probabilities"]), answer.log_probabilities.exp(), rtol=0, atol=1e-4
    )
    present = answer.mixture.log_weight.isfinite()
    assert found["n_clusters"].tolist() == present.sum(1).tolist()
    for name, part in answer.mixture._asdict().items():
        np.testing.assert_allclose(found[name][present], part[present], rtol=1e-3, atol=1e-4)
    assert present.sum() > 1


def test_the_documented_example_finds_the_clusters_of_torch(tmp_path, blobs):
    export_onnx("act_st-mog2d", tmp_path)
    with torch.no_grad():
        points = torch.from_numpy(blobs.points.astype(np.float32))
        answer = open_model("act_st-mog2d")[0].cluster(SetBatch.single(points))
    labels = runpy.run_path(str(LOOP))["cluster"](tmp_path, blobs.points)
    np.testing.assert_array_equal(labels, answer.log_probabilities[0].argmax(1))
    assert labels.max() >= 1


def test_the_card_travels_in_the_graph(exported):
    told = exported[1].get_modelmeta().custom_metadata_map["coterie"]
    assert json.loads(told)["trained_on"] == "nothing"
