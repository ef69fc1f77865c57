"""Densities are plug-ins: the same system, whatever describes a cluster."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import MAF

from coterie.data.batch import SetBatch
from coterie.data.priors.warped import WarpedGaussians
from coterie.densities.flow import FlowDensity
from coterie.inference.loop import find_clusters
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.weights.format import load_system, make_card, save_system

STATISTICIAN = replace(MAF, density="neural_statistician", columns=9, latent=3)


def system_of(config: DACConfig) -> DAC:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DAC(config)


def sets(n_max: int = 30) -> SetBatch:
    return WarpedGaussians(n_max, 3).sample(4, torch.Generator().manual_seed(0))


def test_the_traits_name_the_density():
    traits = MAF.traits
    assert (traits.density, traits.cluster_scale, traits.k_max) == ("maf", None, 4)


def test_a_flow_needs_columns_to_order():
    with pytest.raises(ValueError, match="needs 2 columns or more"):
        replace(MAF, columns=1)


def test_the_loss_has_the_mean_log_density_of_the_cluster_chosen():
    system, batch = system_of(MAF).double().requires_grad_(False), sets()
    batch = SetBatch(batch.points.double(), batch.mask, batch.labels)
    logits, memory = system.network.filter(batch.points, batch.mask)
    log_density = system.network.density(memory).log_prob(batch.points)
    expected = []
    for b, mask in enumerate(batch.mask):
        labels = batch.labels[b][mask]
        losses = []
        for j in labels.unique():
            mine = labels == j
            entropy = torch.nn.functional.binary_cross_entropy_with_logits(
                logits[b][mask], mine.double()
            )
            losses.append(float(entropy - log_density[b][mask][mine].mean()))
        expected.append(min(losses))
    assert float(system.loss(batch)) == pytest.approx(np.mean(expected), rel=1e-9)


def test_every_weight_of_a_flow_learns():
    system = system_of(MAF)
    system.loss(sets()).backward()
    still = [name for name, value in system.named_parameters() if not value.grad.abs().sum() > 0]
    assert still == []


def test_commits_carry_a_flow_that_follows_its_set():
    system, batch = system_of(MAF).requires_grad_(False), sets()
    (commit, *_) = find_clusters(system, batch).commits
    assert isinstance(commit.density, FlowDensity)
    alone = find_clusters(system, SetBatch(batch.points[1:2], batch.mask[1:2])).commits[0]
    found = commit.density.of_sets(slice(1, 2)).log_prob(batch.points[1:2])
    torch.testing.assert_close(found, alone.density.log_prob(batch.points[1:2]))


def test_a_flow_survives_a_weights_file(tmp_path):
    system, batch = system_of(MAF), sets()
    save_system(tmp_path / "flow.safetensors", system, make_card(system))
    again, card = load_system(tmp_path / "flow.safetensors")
    assert card.traits.density == "maf"
    assert torch.equal(again.loss(batch), system.loss(batch))


def test_a_few_bent_sets_can_be_learnt_by_heart():
    system = system_of(replace(MAF, width=32, flow_width=16))
    batch = sets()
    optimizer = torch.optim.Adam(system.parameters(), 5e-3)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = system.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 5
    assert losses[-1] < 0.5


def items(n_sets: int = 3) -> SetBatch:
    """Two kinds of binary items: ink in the first or in the last pixels."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(2, (n_sets, 20), generator=generator)
    ink = torch.where(labels[..., None] == 0, torch.arange(9) < 4, torch.arange(9) >= 5)
    points = (torch.rand(n_sets, 20, 9, generator=generator) < 0.1 + 0.8 * ink).float()
    return SetBatch(points, torch.ones(n_sets, 20, dtype=torch.bool), labels)


def test_a_statistician_encodes_items_before_the_blocks():
    system, batch = system_of(STATISTICIAN).requires_grad_(False), items()
    head = system.network.density_head
    commit = system.step(system.start(batch))
    assert system.network.blocks[0].pool.block.key_value.in_features == STATISTICIAN.width
    again = system.replay(batch.points, [commit])[..., 0]
    torch.testing.assert_close(again, commit.membership_logits)
    assert commit.density.statistician is head


def test_every_weight_of_a_statistician_learns():
    system = system_of(STATISTICIAN)
    system.loss(items(), torch.Generator().manual_seed(0)).backward()
    still = [name for name, value in system.named_parameters() if not value.grad.abs().sum() > 0]
    assert still == []


def test_the_loss_of_a_statistician_is_drawn_by_its_generator():
    system, batch = system_of(STATISTICIAN).requires_grad_(False), items()
    first, again, other = (
        system.loss(batch, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_what_draws_random_numbers_is_not_compiled_as_a_whole():
    assert [name for _, name in system_of(MAF).regions] == ["loss"]
    assert [name for _, name in system_of(STATISTICIAN).regions] == ["filter", "bound"]


def test_a_statistician_survives_a_weights_file(tmp_path):
    system, batch = system_of(STATISTICIAN), items()
    save_system(tmp_path / "ns.safetensors", system, make_card(system))
    again, _ = load_system(tmp_path / "ns.safetensors")
    losses = [each.loss(batch, torch.Generator().manual_seed(0)) for each in (system, again)]
    assert torch.equal(*losses)


def test_kinds_of_items_can_be_learnt_by_heart():
    system, batch = system_of(replace(STATISTICIAN, width=32)), items()
    optimizer = torch.optim.Adam(system.parameters(), 5e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(150):
        optimizer.zero_grad()
        loss = system.loss(batch, generator)
        loss.backward()
        optimizer.step()
    state = find_clusters(system.eval().requires_grad_(False), batch)
    labels = torch.stack([commit.joined for commit in state.with_points()]).float().argmax(0)
    for found, true in zip(labels, batch.labels, strict=True):
        assert len(set(zip(found.tolist(), true.tolist(), strict=True))) == 2
    ink = state.commits[0].density.grey(200, generator).mean(1)  # (B, 9)
    member = [
        points[joined].mean(0)
        for points, joined in zip(batch.points, state.commits[0].joined, strict=True)
    ]
    torch.testing.assert_close(ink, torch.stack(member), rtol=0, atol=0.3)
