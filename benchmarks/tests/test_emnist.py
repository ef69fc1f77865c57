import json

import numpy as np
import pytest
import torch

from bench.emnist import SETTINGS, emnist_setting, run_emnist
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A network with statisticians that has learnt nothing."""
    settings = {
        "columns": 784,
        "width": 16,
        "heads": 2,
        "slots": 4,
        "density": "neural_statistician",
        "latent": 4,
        "context": 6,
        "flow_width": 8,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("dac", settings)
    path = tmp_path_factory.mktemp("emnist") / "emnist.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def test_settings_are_those_of_the_paper_for_seen_and_unseen_characters():
    titles = [setting.title for setting in SETTINGS]
    assert titles[:2] == ["(1000, 4) seen characters", "(3000, 12) seen characters"]
    assert titles[2:] == ["(1000, 4) unseen characters", "(3000, 12) unseen characters"]


def test_likelihoods_are_those_of_a_pixel(weights):
    settings = [emnist_setting(30, 2, kind) for kind in ("seen", "unseen")]
    report = run_emnist(2, 0, weights=[weights], settings=settings)
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    for setting in data["settings"]:
        (method,) = setting["ours"]["methods"]
        assert set(method["metrics"]) == {"ari", "nmi", "acc", "k_found", "k_mae", "ll_per_pixel"}
        assert -1.5 < method["metrics"]["ll_per_pixel"]["mean"] < 0
    assert "LL per pixel" in report.tables()[0][1]


def test_images_are_binary_and_of_other_characters():
    generator = torch.Generator().manual_seed(0)
    for kind in ("seen", "unseen"):
        for given in emnist_setting(40, 3, kind).draw(3, generator):
            assert given.points.shape[1] == 784
            assert set(np.unique(given.points)) == {0.0, 1.0}
            assert given.of_pixels
