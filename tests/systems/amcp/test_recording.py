"""Recorded steps are the steps of the network they were recorded from."""

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.inference.loop import find_clusters
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.recording import MOST_SHAPES, RecordedAMCP, recorded
from coterie.systems.amcp.steps import AMCP
from coterie.systems.protocol import State, claimed_labels
from coterie.weights.catalogue import open_model

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")


def sets(n_sets: int, n_max: int, seed: int, device: str = "cuda") -> SetBatch:
    prior = MixtureOfGaussians(n_max=n_max, k_max=4)
    return prior.sample(n_sets, torch.Generator().manual_seed(seed)).to(device)


def plain(network: AMCP, batch: SetBatch) -> State:
    """The loop without recordings, step by step."""
    with torch.inference_mode():
        state = network.start(batch)
        while not bool(network.finished(state).all()):
            state = state.after(network.step(state))
    return state


def assert_same(state: State, expected: State) -> None:
    assert torch.equal(claimed_labels(state.commits), claimed_labels(expected.commits))
    for mine, theirs in zip(state.commits, expected.commits, strict=False):
        torch.testing.assert_close(
            mine.membership_logits, theirs.membership_logits, rtol=1e-3, atol=1e-3
        )
        for kept, wanted in zip(mine.memory, theirs.memory, strict=True):
            torch.testing.assert_close(kept, wanted, rtol=1e-3, atol=1e-3)


def test_a_network_that_encodes_anew_is_left_as_it_is():
    system = AMCP(AMCPConfig(width=8, read_width=8, heads=2))
    assert not system.encodes_once
    assert recorded(system) is system
    assert system.accelerated() is system


def test_a_network_on_the_cpu_is_left_as_it_is():
    network, _ = open_model("amcp-mog2d")
    assert network.encodes_once
    assert recorded(network) is network
    assert network.accelerated() is network


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("weights", ["amcp-mog2d", "amcp-warped2d"])
def test_sets_of_any_size_have_the_clusters_of_the_plain_loop(weights):
    network, _ = open_model(weights, "cuda")
    for seed, n_max in enumerate([400, 390, 400, 900, 400, 870, 20, 20]):
        batch = sets(1, n_max, seed)
        assert_same(find_clusters(network, batch), plain(network, batch))
    steps = recorded(network)
    assert isinstance(steps, RecordedAMCP)
    assert any(program is not None for program in steps.seen.values())


@pytest.mark.gpu
@on_gpu
def test_sets_side_by_side_have_the_clusters_of_the_plain_loop():
    network, _ = open_model("amcp-mog2d", "cuda")
    for seed in range(3):
        batch = sets(16, 500, seed)
        assert_same(find_clusters(network, batch), plain(network, batch))


@pytest.mark.gpu
@on_gpu
def test_few_shapes_are_kept():
    network, _ = open_model("amcp-mog2d", "cuda")
    for n_sets in range(1, MOST_SHAPES + 4):
        find_clusters(network, sets(n_sets, 100, 0))
    steps = recorded(network)
    assert isinstance(steps, RecordedAMCP)
    assert len(steps.seen) <= MOST_SHAPES
