import os
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import settings
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.registry import build
from coterie.weights.catalogue import open_model
from coterie.weights.format import make_card, save_system

# A shared machine stalls at times, which is not the code's fault.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# The parallel workers share the cores, and sums on one thread have one order: in torch, in what is
# loaded already, in what is loaded later, and in processes that tests start.
torch.set_num_threads(1)
threadpool_limits(1)
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def pytest_terminal_summary(terminalreporter):
    """What was skipped and how to run it: one line for each reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")


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


@pytest.fixture
def peak_of() -> Callable[[Callable[[], object]], int]:
    """The memory that a function takes, in bytes at its worst moment.

    What other threads take meanwhile, and imports at first use, is counted too, but not every time:
    the least of three runs is the function's own.
    """

    def measure(do: Callable[[], object]) -> int:
        tracemalloc.start()
        try:
            do()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return lambda do: min(measure(do) for _ in range(3))


class Labelled(NamedTuple):
    points: NDArray[np.float64]  # (n, 2)
    labels: NDArray[np.intp]  # (n,), the truth


@pytest.fixture(scope="session")
def blobs() -> Labelled:
    """Three clusters that nobody can miss, of 150, 100 and 50 points."""
    centres = [(-4.0, -2.0), (4.0, -2.0), (0.0, 5.0)]
    points, labels = make_blobs([150, 100, 50], centers=centres, cluster_std=0.25, random_state=0)
    points.flags.writeable = labels.flags.writeable = False
    return Labelled(points, labels)


@pytest.fixture(scope="session")
def shipped_dac() -> DAC:
    return open_model("dac-mog2d")[0]


def _small_dac() -> DAC:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DAC(DACConfig(width=16, heads=2, slots=4, encoder_blocks=1, decoder_blocks=1))


@pytest.fixture(scope="session")
def small_dac() -> DAC:
    """An untrained network of few weights, in float32."""
    return _small_dac().requires_grad_(False)


@pytest.fixture(scope="session")
def exact_dac() -> DAC:
    """The same network in float64."""
    return _small_dac().requires_grad_(False).double()


@pytest.fixture(scope="session")
def small_amcp(tmp_path_factory):
    """A weights file of an untrained AMCP of width 16."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("amcp", SMALL_AMCP)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_system(path, network, make_card(network))
    return str(path)


@pytest.fixture(scope="session")
def tiny_ncp(tmp_path_factory):
    """A weights file of an NCP that knows up to three clusters, after seconds of training."""
    prior = MixtureOfGaussians(n_max=30, k_max=3)
    settings = {"width": 32, "layers": 2, "point_width": 16, "cluster_width": 32, "k_max": 3}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("ncp", settings)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3, betas=(0.9, 0.99))
    for step in range(150):
        generator = torch.Generator().manual_seed(step)
        loss = network.loss(prior.sample(16, generator), generator)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    path = tmp_path_factory.mktemp("weights") / "tiny_ncp.safetensors"
    save_system(path, network, make_card(network, context_size=400))
    return str(path)


@pytest.fixture(scope="session")
def tiny_chigac(tmp_path_factory):
    """A weights file of a CHiGac that knows up to three clusters, after seconds of training."""
    prior = MixtureOfGaussians(n_max=40, k_max=3)
    settings = {"width": 32, "heads": 2, "slots": 8, "latent": 16, "read_width": 16, "k_max": 3}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build("chigac", {**settings, "inference": "ai"})
    optimizer = torch.optim.Adam(network.parameters(), 4e-3, betas=(0.9, 0.99))
    for step in range(160):
        generator = torch.Generator().manual_seed(step)
        loss = network.loss(prior.sample(8, generator), generator)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    path = tmp_path_factory.mktemp("weights") / "tiny_chigac.safetensors"
    save_system(path, network, make_card(network, context_size=400))
    return str(path)


@pytest.fixture(scope="module")
def browser():
    """A real Chromium. Without one, its tests are skipped, or fail where it is required."""
    without = pytest.fail if os.environ.get("COTERIE_REQUIRE_BROWSER") else pytest.skip
    chromium = os.environ.get("COTERIE_CHROMIUM") or shutil.which("chromium")
    if find_spec("playwright") is None:
        without("needs playwright, which is in coterie[dev]")
    if chromium is None:
        without("needs Chromium: apt-get install chromium, or name the program in COTERIE_CHROMIUM")
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
    quiet += [f"--disable-{each}" for each in ("background-networking", "component-update")]
    quiet += [f"--disable-{each}" for each in ("sync", "quic")]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        yield browser
        browser.close()
