import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.protocol import State
from coterie.weights.format import load_system, make_card, save_system

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
SEEDS = st.integers(0, 2**31)
SMALL = DACConfig(width=16, heads=2, slots=4, encoder_blocks=1, decoder_blocks=1)


@pytest.fixture(scope="module", params=["float32", "float64"])
def network(request, small_dac, exact_dac) -> DAC:
    return {"float32": small_dac, "float64": exact_dac}[request.param]


def random_batch(seed: int, n_sets: int = 3, n_points: int = 12) -> SetBatch:
    """Sets of different sizes; what lies under the mask is far from harmless."""
    generator = torch.Generator().manual_seed(seed)
    points = 3 * torch.randn(n_sets, n_points, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(n_sets, n_points, generator=generator) < 0.7
    mask[:, 0] = True
    return SetBatch(torch.where(mask[..., None], points, 50.0), mask)


def as_read_by(network: DAC, batch: SetBatch) -> SetBatch:
    return SetBatch(
        batch.points.to(network.network.membership_head.weight), batch.mask, batch.labels
    )


def close(network: DAC, found: Tensor, expected: Tensor) -> bool:
    tolerance = TOLERANCE[found.dtype]
    return torch.allclose(found, expected.to(found), rtol=tolerance, atol=tolerance)


def eq_5(points, labels, membership, mean, scale) -> float:
    """DAC's equation 5 for one set, word by word: arrays (n, D), (n,), (n,), (D,), (D,)."""
    losses = []
    for j in set(labels):
        entropy = 0.0
        for m, y in zip(membership, labels, strict=True):
            entropy -= math.log(m) if y == j else math.log(1 - m)
        mine = points[labels == j]
        density = norm.logpdf(mine, mean, scale).sum() / len(mine)
        losses.append(entropy / len(points) - density)
    return min(losses)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_loss_is_equation_5(exact_dac, seed):
    batch = MixtureOfGaussians(n_max=15, k_max=4).sample(5, torch.Generator().manual_seed(seed))
    batch = as_read_by(exact_dac, batch)
    expected = []
    for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True):
        alone = SetBatch.single(points[mask])
        logits, memory = exact_dac.network.filter(alone.points, alone.mask)
        theta = exact_dac.network.density(memory)
        expected.append(
            eq_5(
                points[mask].numpy(),
                labels[mask].numpy(),
                logits[0].sigmoid().numpy(),
                theta.mean[0].numpy(),
                theta.log_scale[0].exp().numpy(),
            )
        )
    assert float(exact_dac.loss(batch)) == pytest.approx(np.mean(expected), rel=1e-10)


def test_without_a_density_the_loss_is_equation_9():
    """Its mean over the points, where the paper has the sum: a set of any size counts alike."""
    system = DAC(replace(SMALL, density=None)).double().requires_grad_(False)
    batch = MixtureOfGaussians(n_max=15, k_max=4).sample(5, torch.Generator().manual_seed(1))
    batch = as_read_by(system, batch)
    expected = []
    for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True):
        logits, memory = system.network.filter(points[mask][None], mask[mask][None])
        assert system.network.density(memory) is None
        inside = labels[mask][None] == labels[mask].unique()[:, None]
        entropy = binary_cross_entropy_with_logits(
            logits.expand(inside.shape), inside.double(), reduction="none"
        )
        expected.append(float(entropy.mean(1).min()))
    assert float(system.loss(batch)) == pytest.approx(np.mean(expected), rel=1e-10)


def test_without_a_density_no_commit_has_one():
    system = DAC(replace(SMALL, density=None))
    assert system.step(system.start(as_read_by(system, random_batch(0)))).density is None
    assert not [name for name in system.state_dict() if "None" in name or "gaussian" in name]
    assert system.traits.density is None
    assert system.traits.cluster_scale is None


def test_no_density_survives_a_weights_file(tmp_path):
    system = DAC(replace(SMALL, density=None))
    save_system(tmp_path / "none.safetensors", system, make_card(system))
    again, card = load_system(tmp_path / "none.safetensors")
    assert again.config == system.config
    assert card.settings["density"] is None


def test_loss_does_not_depend_on_the_numbers_of_the_clusters(exact_dac):
    batch = MixtureOfGaussians(n_max=15, k_max=4).sample(5, torch.Generator().manual_seed(0))
    batch = as_read_by(exact_dac, batch)
    renamed = SetBatch(batch.points, batch.mask, torch.where(batch.mask, 3 - batch.labels, -1))
    torch.testing.assert_close(exact_dac.loss(batch), exact_dac.loss(renamed), rtol=0, atol=1e-12)


def test_loss_needs_labels(small_dac):
    with pytest.raises(ValueError, match="no labels"):
        small_dac.loss(as_read_by(small_dac, random_batch(0)))


@given(seed=SEEDS, order=st.permutations(range(12)))
@settings(max_examples=20)
def test_step_follows_a_permutation_of_the_points(network, seed, order):
    batch = as_read_by(network, random_batch(seed))
    shuffled = SetBatch(batch.points[:, order], batch.mask[:, order])
    logits = network.step(network.start(batch)).membership_logits
    assert close(network, network.step(network.start(shuffled)).membership_logits, logits[:, order])


@given(seed=SEEDS)
@settings(max_examples=20)
def test_step_ignores_padding_and_companions(network, seed):
    batch = as_read_by(network, random_batch(seed))
    together = network.step(network.start(batch))
    for i, (points, mask) in enumerate(zip(batch.points, batch.mask, strict=True)):
        alone = network.step(network.start(SetBatch.single(points[mask])))
        logits = together.membership_logits[i]
        assert close(network, logits[mask], alone.membership_logits[0])
        assert close(network, together.density.mean[i], alone.density.mean[0])
        assert (logits[~mask] == -torch.inf).all()


@given(seed=SEEDS)
@settings(max_examples=20)
def test_step_sees_only_what_remains(network, seed):
    batch = as_read_by(network, random_batch(seed, n_sets=1))
    remaining = batch.mask.clone()
    remaining[0, 1:6] = False
    later = network.step(State(batch, remaining))
    fresh = network.step(network.start(batch.keep(remaining)))
    assert close(network, later.membership_logits, fresh.membership_logits)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_replay_gives_the_logits_of_the_step(network, seed):
    batch = as_read_by(network, random_batch(seed))
    commit = network.step(network.start(batch))
    again = network.replay(batch.points, [commit])[..., 0]
    assert close(network, again[batch.mask], commit.membership_logits[batch.mask])


@given(seed=SEEDS)
@settings(max_examples=20)
def test_step_claims_only_points_that_remain(small_dac, seed):
    batch = as_read_by(small_dac, random_batch(seed))
    state = small_dac.start(batch)
    state = state.after(small_dac.step(state))
    commit = small_dac.step(state)
    assert not (commit.joined & ~state.remaining).any()


def test_first_step_always_claims_something(small_dac):
    batch = as_read_by(small_dac, random_batch(0, n_sets=8))
    assert small_dac.step(small_dac.start(batch)).joined.any(1).all()


def test_step_leaves_the_network_and_its_input_alone(small_dac):
    batch = as_read_by(small_dac, random_batch(0))
    points = batch.points.clone()
    weights = {name: value.clone() for name, value in small_dac.state_dict().items()}
    small_dac.step(small_dac.start(batch))
    assert torch.equal(batch.points, points)
    assert all(torch.equal(value, weights[name]) for name, value in small_dac.state_dict().items())


def test_every_weight_learns():
    network = DAC(SMALL)
    batch = MixtureOfGaussians(n_max=20, k_max=3).sample(4, torch.Generator().manual_seed(0))
    network.loss(batch).backward()
    still = [name for name, value in network.named_parameters() if not value.grad.abs().sum() > 0]
    assert still == []


def test_a_few_sets_can_be_learnt_by_heart():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = DAC(DACConfig(width=32, heads=2, slots=4, encoder_blocks=1, decoder_blocks=1))
    batch = MixtureOfGaussians(n_max=30, k_max=3).sample(4, torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = network.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 5
    assert losses[-1] < 0.5


def test_shipped_weights_claim_one_blob_a_step(shipped_dac, blobs):
    points = torch.tensor(blobs.points, dtype=torch.float32)
    state = shipped_dac.start(SetBatch.single(points))
    for _ in range(3):
        commit = shipped_dac.step(state)
        state = state.after(commit)
        claimed = blobs.labels[commit.joined[0].numpy()]
        assert len(set(claimed)) == 1
        assert len(claimed) == (blobs.labels == claimed[0]).sum()
    assert shipped_dac.finished(state).all()


def test_shipped_weights_know_where_a_blob_is(shipped_dac, blobs):
    points = torch.tensor(blobs.points, dtype=torch.float32)
    commit = shipped_dac.step(shipped_dac.start(SetBatch.single(points)))
    claimed = points[commit.joined[0]]
    torch.testing.assert_close(commit.density.mean[0], claimed.mean(0), rtol=0, atol=0.2)


def test_config_is_frozen():
    with pytest.raises(FrozenInstanceError):
        DACConfig().width = 7
