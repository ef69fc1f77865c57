from collections.abc import Callable

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.chigac.steps import CHiGac

SMALL = {"width": 16, "heads": 2, "slots": 4, "latent": 8, "read_width": 8, "samples": 4}


def build_small(**changes) -> CHiGac:
    """An untrained network of few weights, in float64, that joins points and refuses others."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = CHiGac(CHiGacConfig(**{**SMALL, **changes}))
    system.network.offset.data.fill_(0.0)
    return system.double().eval().requires_grad_(False)


@pytest.fixture(scope="session")
def small() -> Callable[..., CHiGac]:
    """Builds such networks; the same weights whatever the settings of inference."""
    return build_small


@pytest.fixture(scope="session")
def sets() -> SetBatch:
    """Three labelled sets of different sizes; what lies under the mask is far from harmless."""
    generator = torch.Generator().manual_seed(0)
    points = 3 * torch.randn(3, 12, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(3, 12, generator=generator) < 0.8
    mask[:, 0] = True
    labels = torch.randint(0, 3, (3, 12), generator=generator)
    labels[2] = labels[2].clamp_max(1)
    labels = torch.where(mask, labels, -1)
    return SetBatch(torch.where(mask[..., None], points, 50.0), mask, labels)
