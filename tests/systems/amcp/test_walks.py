"""A network that walks among landmarks and compares proposals: what it sees, whom it believes."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.diffusion import Walks, n_scales
from coterie.functional.reduce import sharded
from coterie.inference.loop import find_clusters
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.parts import Question
from coterie.systems.amcp.steps import AMCP, SIZE_COUNTS
from coterie.systems.protocol import State, claimed_labels

WALKING = AMCPConfig(
    width=16,
    read_width=16,
    heads=2,
    frequencies=2,
    landmarks=12,
    encoder_blocks=1,
    decoder_blocks=0,
    encode_every=0,
    proposal="anchor",
    proposals=4,
    coupling=True,
    questions=3,
    density="none",
)
EXACT = {"rtol": 1e-10, "atol": 1e-10}
SEEDS = st.integers(0, 2**31)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network_of(config: AMCPConfig) -> AMCP:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return AMCP(config)


def changed(system: AMCP, **settings: Any) -> AMCP:
    """The same weights under other settings."""
    other = network_of(replace(system.config, **settings)).double().requires_grad_(False)
    other.load_state_dict(system.state_dict())
    return other


def deafened(system: AMCP) -> AMCP:
    """The same network without what walks tell it."""
    deaf = deepcopy(system)
    deaf.network.walk_map.weight.zero_()
    return deaf


@pytest.fixture(scope="module")
def taught() -> AMCP:
    """A network that has learnt a little, in float64."""
    network, prior = network_of(WALKING), MixtureOfGaussians(n_max=40, k_max=3)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for step in range(120):
        generator = seeded(step % 4)
        loss = network.loss(prior.sample(12, generator), generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.double().requires_grad_(False)


def random_batch(seed: int = 0, n_sets: int = 3, n_max: int = 40) -> SetBatch:
    batch = MixtureOfGaussians(n_max=n_max, k_max=4).sample(n_sets, seeded(seed))
    return SetBatch(batch.points.double(), batch.mask, batch.labels)


def several(network: AMCP, batch: SetBatch) -> State:
    state = find_clusters(network, batch)
    assert len(state.commits) > 1
    return state


# The loop


@given(seed=SEEDS, n_padding=st.integers(0, 6))
@settings(max_examples=10)
def test_order_padding_and_companions_leave_the_clusters(taught, seed, n_padding):
    batch = random_batch(seed, n_sets=1)
    points = batch.points[batch.mask]
    alone = find_clusters(taught, SetBatch.single(points))
    length = len(points) + n_padding
    place = torch.randperm(length, generator=seeded(seed))[: len(points)]
    spread = torch.full((length, 2), 0.3, dtype=torch.float64)
    spread[place] = points
    valid = torch.zeros(length, dtype=torch.bool)
    valid[place] = True
    strangers = [(100 * spread + 7, valid), (spread, ~valid), (spread, torch.zeros_like(valid))]
    rows = [*strangers, (spread, valid)]
    together = find_clusters(taught, SetBatch(*map(torch.stack, zip(*rows, strict=True))))
    labels = claimed_labels(together.commits)[-1]
    assert torch.equal(labels[place], claimed_labels(alone.commits)[0])
    assert (labels[~valid] == -1).all()
    for mine, theirs in zip(together.commits, alone.commits, strict=False):
        logits = mine.membership_logits[-1, place]
        torch.testing.assert_close(logits, theirs.membership_logits[0], **EXACT)


def test_fitted_points_are_replayed_to_the_logits_of_their_steps(taught):
    batch = random_batch()
    state = several(taught, batch)
    replayed = taught.replay(batch.points, state.commits)
    for number, commit in enumerate(state.commits):
        offered = commit.membership_logits.isfinite()
        expected = commit.membership_logits[offered]
        torch.testing.assert_close(replayed[..., number][offered], expected, **EXACT)


@pytest.mark.parametrize("size", [1, 7])
def test_new_points_come_in_chunks_of_any_size(taught, size):
    commits = several(taught, random_batch(1, n_sets=1)).commits
    new = 3 * torch.randn(1, 20, 2, generator=seeded(5), dtype=torch.float64)
    whole = taught.replay(new, commits)
    chunks = [taught.replay(chunk, commits) for chunk in new.split(size, 1)]
    torch.testing.assert_close(torch.cat(chunks, 1), whole, **EXACT)


@pytest.mark.parametrize("n_points", [1, 2, 5])
def test_fewer_points_than_landmarks_and_proposals(taught, n_points):
    points = torch.randn(n_points, 2, generator=seeded(0), dtype=torch.float64)
    commit = taught.step(taught.start(SetBatch.single(points)))
    assert commit.membership_logits.isfinite().all()


# Several proposals


def merit(logits: Tensor) -> float:
    """Of all memberships, and of the points that would join, the part that both have.

    A proposal with more members is preferred to one that is as sure.
    """
    probability = [1 / (1 + math.exp(-value)) for value in logits.tolist()]
    joining = sum(p for p in probability if p > 0.5)
    n_joining = sum(p > 0.5 for p in probability)
    sureness = joining / (sum(probability) - joining + n_joining)
    return sureness * max(1, sum(probability)) ** SIZE_COUNTS


def test_the_surest_proposal_wins_by_its_size_if_need_be(taught):
    """Every proposal by itself, in a set that is alone."""
    batch, winners = random_batch(n_sets=6), set()
    commit = taught.step(taught.start(batch))
    for b in range(6):
        points = batch.points[b, batch.mask[b]]
        everyone = torch.ones(1, 1, len(points)).bool()
        features, _ = taught.network.encode(points[None], everyone[:, 0])
        order = features.promise[0, :, 0].argsort(descending=True).tolist()
        nothing = torch.zeros(1, 1, WALKING.width, dtype=torch.float64)
        proposed = []
        for number in range(4):
            anchor = order[int((number + 0.5) * len(points) / 4)]
            where = torch.zeros(1, 1, len(points), dtype=torch.float64)
            where[..., anchor] = 1
            question = Question(everyone, everyone[:, 0].sum(1), nothing, where)
            proposed.append(taught.network.guess(features, question)[0][-1].logits[0, 0])
        best = max(range(4), key=lambda number, by=proposed: merit(by[number]))
        winners.add(best)
        found = commit.membership_logits[b, batch.mask[b]]
        torch.testing.assert_close(found, proposed[best], **EXACT)
    assert len(winners) > 1


def test_one_proposal_starts_from_the_most_promising_point(taught):
    single, batch = changed(taught, proposals=1).network, random_batch()
    features, _ = single.encode(batch.points, batch.mask)
    anchors = single.anchors(features.promise, torch.zeros_like(features.promise), batch.mask)
    best = torch.where(batch.mask, features.promise[..., 0], -torch.inf).argmax(1)
    assert torch.equal(anchors[:, 0].argmax(1), best)


# Walks


def test_without_landmarks_nothing_is_walked():
    network, batch = network_of(replace(WALKING, landmarks=0)).double().network, random_batch()
    features, slots = network.encode(batch.points, batch.mask)
    assert features.near is None
    assert features.walks is None
    assert len(slots) == network.encoder.n_slots == 1
    assert not hasattr(network, "walk_map")


def test_walks_are_kept_with_the_encoding(taught):
    network, batch = taught.network, random_batch()
    features, slots = network.encode(batch.points, batch.mask)
    assert len(slots) == network.encoder.n_slots == 3
    assert features.near.shape == (3, 40, 12)
    assert features.walks.degree.shape == (3, 12)
    assert features.walks.ends.shape == (3, n_scales(leaps=False), 12, 12)
    assert not features.near[~batch.mask].any()
    near = network.view(batch.points, slots).near
    torch.testing.assert_close(near[batch.mask], features.near[batch.mask])


def test_the_network_hears_where_walks_lead(taught):
    batch = random_batch()
    features, _ = taught.network.encode(batch.points, batch.mask)
    deaf = deafened(taught)
    args = (batch.mask, batch.mask.sum(1), torch.zeros(3, 1, 16).double())
    nothing = torch.zeros(3, 40, 1).double()
    heard, unheard = (net.find(features, *args, nothing) for net in (taught, deaf))
    walks = features.walks
    turned = features._replace(walks=walks._replace(ends=walks.ends.flip(2)))
    assert not torch.allclose(heard.logits, unheard.logits)
    assert not torch.allclose(taught.find(turned, *args, nothing).logits, heard.logits)
    torch.testing.assert_close(deaf.find(turned, *args, nothing).logits, unheard.logits)


def test_dropped_walks_teach_nothing(taught):
    def loss(share: float, *, deaf: bool) -> float:
        network = changed(taught, walk_dropout=share)
        if deaf:
            network = deafened(network)
        return float(network.loss(random_batch(n_sets=8), seeded(0)))

    # A walk that has forgotten says log(1.001), a deaf network hears nothing.
    assert loss(1.0, deaf=False) == pytest.approx(loss(1e-9, deaf=True), rel=1e-3)
    assert loss(1e-9, deaf=False) != pytest.approx(loss(1e-9, deaf=True), rel=1e-2)


def test_walks_are_dropped_in_some_of_the_sets():
    network = network_of(replace(WALKING, walk_dropout=0.25))
    degree = torch.full((1000, 2), 0.5)
    walks = Walks(degree, torch.eye(2).expand(1000, 3, 2, 2), torch.ones(1000, 2))
    dropped = network.lessons._drop_walks(walks, seeded(0))
    same = (dropped.ends == walks.ends).flatten(1)
    assert torch.equal(same.all(1), same.any(1))  # a set is heard at every scale, or at none
    assert (~same.all(1)).float().mean().item() == pytest.approx(0.25, abs=0.05)
    assert torch.equal(dropped.degree, degree)


# Settings


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"proposal": "seed"}, "several proposals are compared from anchors"),
        ({"decoder_blocks": 1}, "without a decoder"),
        ({"proposal": "seed", "proposals": 1}, "landmarks need proposal 'anchor'"),
        ({"encode_every": 1}, "landmarks need encode_every 0"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        replace(WALKING, **wrong)


@pytest.mark.parametrize(
    "setting", [{"proposals": 1}, {"landmarks": 0}], ids=["landmarks", "proposals"]
)
def test_points_in_several_places_are_refused(setting):
    network = network_of(replace(WALKING, **setting)).double()
    with (
        sharded(Mock()),
        pytest.raises(ValueError, match="needs all points of a set in one place"),
    ):
        network.start(random_batch())
    network.start(random_batch())  # in one place they are welcome


# Points that have a cluster are put aside


@given(SEEDS)
@settings(max_examples=10)
def test_points_that_are_put_aside_change_nothing(taught, seed):
    batch = random_batch(seed)
    batch = SetBatch(batch.points.double(), batch.mask)
    states = []
    for share in (0.0, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("coterie.systems.amcp.steps.WORTH_KEEPING", share)
            states.append(find_clusters(taught, batch))
    kept, aside = states
    assert torch.equal(claimed_labels(kept.commits), claimed_labels(aside.commits))
    for one, other in zip(kept.commits, aside.commits, strict=True):
        torch.testing.assert_close(one.membership_logits, other.membership_logits, **EXACT)
