"""Memberships that also depend on the angle between a point and its cluster."""

import pytest
import torch
from torch.nn.functional import normalize

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.network import FIRST_OFFSET, FIRST_SLOPE
from coterie.systems.amcp.parts import Question
from coterie.systems.amcp.steps import AMCP

SETTINGS = {
    "columns": 3,
    "width": 16,
    "heads": 2,
    "references": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "encode_every": 0,
    "proposal": "anchor",
    "read_width": 8,
    "comparison": True,
}


@pytest.fixture
def system():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = AMCP(AMCPConfig(**SETTINGS)).double().eval().requires_grad_(False)
    system.network.membership.weight.zero_()
    system.network.membership.bias.zero_()
    return system


@pytest.fixture
def sets():
    points = torch.randn(2, 12, 3, generator=torch.Generator().manual_seed(1)).double()
    return SetBatch(points, torch.ones(2, 12, dtype=torch.bool))


def test_a_silent_network_decides_by_the_angle_with_the_anchor(system, sets):
    features, _ = system.network.encode(sets.points, sets.mask)
    anchor = torch.zeros(2, 1, 12).double()
    anchor[:, 0, 4] = 1
    finished = system.nothing_finished(sets.points)
    question = Question(sets.mask[:, None], sets.mask.sum(1), finished, anchor)
    first = system.network.guess(features, question)[0][0]
    unit = normalize(sets.points, dim=-1)
    expected = FIRST_SLOPE * (unit @ unit[:, 4, :, None])[..., 0] + FIRST_OFFSET
    assert torch.allclose(first.logits[:, 0], expected)


def test_steps_are_taken_again_from_what_they_kept(system, sets):
    one = SetBatch(sets.points[:1], sets.mask[:1])
    state = find_clusters(system, one)
    replayed = system.replay(one.points, state.commits)
    for number, commit in enumerate(state.commits):
        offered = commit.membership_logits[0].isfinite()
        found = commit.membership_logits[0, offered]
        assert torch.allclose(replayed[0, offered, number], found, atol=1e-8)


def test_the_likelihood_can_weigh_less(sets):
    labelled = SetBatch(sets.points, sets.mask, torch.randint(3, (2, 12)))
    losses = []
    for weight in (0.0, 0.5, 1.0):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            system = AMCP(AMCPConfig(**SETTINGS, density_weight=weight, questions=3)).double()
        losses.append(float(system.loss(labelled, torch.Generator().manual_seed(0)).detach()))
    assert losses[1] == pytest.approx((losses[0] + losses[2]) / 2)
    assert losses[0] != losses[2]


@pytest.mark.parametrize("change", [{"proposal": "seed"}, {"density": "none"}])
def test_without_a_place_there_is_nothing_to_compare(change):
    with pytest.raises(ValueError, match="comparison is with an anchor's place"):
        AMCPConfig(**{**SETTINGS, **change})
