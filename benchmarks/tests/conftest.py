from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

# Workers share the cores, and sums on one thread have one order.
torch.set_num_threads(1)

SMALL_AMCP = {
    "columns": 2,
    "width": 16,
    "heads": 2,
    "references": 4,
    "em_steps": 1,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "read_width": 8,
    "refinements": 1,
}


class Labelled(NamedTuple):
    points: NDArray[np.float64]  # (n, 2)
    labels: NDArray[np.intp]  # (n,), the truth


@pytest.fixture(scope="session")
def blobs() -> Labelled:
    """Three clusters far apart, of 150, 100 and 50 points."""
    centres = [(-4.0, -2.0), (4.0, -2.0), (0.0, 5.0)]
    return Labelled(*make_blobs([150, 100, 50], centers=centres, cluster_std=0.25, random_state=0))


@pytest.fixture(scope="session")
def small_amcp(tmp_path_factory):
    """A weights file of an untrained AMCP of width 16."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("amcp", SMALL_AMCP)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_system(path, network, make_card(network))
    return str(path)
