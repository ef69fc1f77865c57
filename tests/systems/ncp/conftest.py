import pytest
import torch

from coterie.systems.ncp.config import NCPConfig
from coterie.systems.ncp.steps import NCP


@pytest.fixture(scope="session")
def small_ncp() -> NCP:
    """An untrained network of few weights, in float64, whose seats are far from certain."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = NCP(NCPConfig(width=16, layers=2, point_width=8, cluster_width=12))
        for weight in system.parameters():
            weight.data *= 2
    return system.double().requires_grad_(False)
