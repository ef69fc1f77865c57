import pytest
import torch

from coterie.systems.registry import build
from coterie.weights.format import Card, save_system

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


@pytest.fixture(scope="session")
def small_amcp(tmp_path_factory):
    """A weights file of an untrained AMCP of width 16."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("amcp", SMALL_AMCP)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_system(path, network, Card("amcp", SMALL_AMCP))
    return str(path)
