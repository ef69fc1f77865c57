"""Anchored filtering: eq. 7 to 9, and what goes beyond them."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.anchors import uniform_anchors
from coterie.functional.matching import sureness
from coterie.inference.loop import find_clusters, find_labels
from coterie.metrics import ari
from coterie.systems.dac.anchored import anchored_loss
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC

PLAIN = DACConfig(
    width=16, heads=2, slots=4, encoder_blocks=2, decoder_blocks=1, filtering="anchored"
)
BEYOND = replace(
    PLAIN, density=None, read_width=8, comparison=True, refinements=2, encode_once=True, questions=5
)
BOTH = pytest.mark.parametrize("config", [PLAIN, BEYOND], ids=["paper", "beyond"])


def system_of(config: DACConfig, seed: int = 0) -> DAC:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DAC(config).double().eval().requires_grad_(False)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def sets() -> SetBatch:
    batch = MixtureOfGaussians(n_max=40, k_max=4).sample(3, generator())
    return SetBatch(batch.points.double(), batch.mask, batch.labels)


@BOTH
def test_every_point_gets_a_cluster_and_the_anchor_joins_its_own(config, sets):
    state = find_clusters(system_of(config), sets, generator=generator())
    assert not state.remaining.any()
    for commit in state.commits:
        busy = commit.membership_logits.isfinite().any(1)
        assert commit.joined.any(1)[busy].all()
        # Beside the anchor only points above one half join.
        below = commit.joined & (commit.membership_logits <= 0)
        assert (below.sum(1) <= 1).all()


@BOTH
def test_the_generator_draws_the_anchors(config, sets):
    system = system_of(config)

    def first_step(seed):
        commits = find_clusters(system, sets, generator=generator(seed)).commits
        return commits[0].membership_logits

    assert torch.equal(first_step(3), first_step(3))
    assert any(not torch.equal(first_step(3), first_step(seed)) for seed in range(4, 9))


@BOTH
def test_a_step_is_taken_again_from_what_it_kept(config, sets):
    system = system_of(config)
    one = SetBatch(sets.points[:1], sets.mask[:1])
    state = find_clusters(system, one, generator=generator())
    replayed = system.replay(one.points, state.commits)
    for number, commit in enumerate(state.commits):
        offered = commit.membership_logits[0].isfinite()
        assert torch.allclose(
            replayed[0, offered, number], commit.membership_logits[0, offered].double(), atol=1e-4
        )


@BOTH
def test_padding_and_companions_change_nothing(config, sets):
    system = system_of(config)
    network, mask = system.network, sets.mask
    anchors = uniform_anchors(mask, 3, generator())
    remaining = mask[:, None].expand(-1, 3, -1)
    logits = network.guess(network.encode(sets.points, mask)[0], remaining, anchors)[-1].logits
    number = 1
    alone = sets.points[number][mask[number]][None]
    all_there = torch.ones(1, alone.shape[1], dtype=torch.bool)
    encoded, _ = network.encode(alone, all_there)
    places = mask[number].long().cumsum(0)[anchors[number]] - 1
    again = network.guess(encoded, all_there[:, None].expand(-1, 3, -1), places[None])[-1].logits
    assert torch.allclose(again[0], logits[number][:, mask[number]])


@BOTH
def test_anchors_side_by_side_are_answered_as_one_by_one(config, sets):
    network = system_of(config).network
    encoded, _ = network.encode(sets.points, sets.mask)
    anchors = uniform_anchors(sets.mask, 4, generator())
    remaining = sets.mask[:, None].expand(-1, 4, -1)
    together = network.guess(encoded, remaining, anchors)[-1].logits
    for number in range(4):
        alone = network.guess(encoded, remaining[:, :1], anchors[:, number : number + 1])[-1]
        assert torch.allclose(alone.logits[:, 0], together[:, number])


def test_the_loss_is_equation_7(sets):
    system = system_of(PLAIN)
    network, mask, labels = system.network, sets.mask, sets.labels
    loss = anchored_loss(network, sets, generator(5))
    anchors = uniform_anchors(mask, 1, generator(5))
    guess = network.guess(network.encode(sets.points, mask)[0], mask[:, None], anchors)[-1]
    density = network.density(guess.slots)
    expected, found = [], []
    for number in range(3):
        own = labels[number] == labels[number, anchors[number, 0]]
        there = mask[number]
        cross = binary_cross_entropy_with_logits(
            guess.logits[number, 0, there], own[there].double()
        )
        inside = density.log_prob(sets.points)[number][own & there].mean()
        expected.append(cross - inside)
        probability = guess.logits[number, 0, there].sigmoid()
        both = (probability * own[there]).sum()
        found.append(both / (probability.sum() + own[there].sum() - both))
    promise = network.encode(sets.points, mask)[0].promise.gather(1, anchors)[:, 0]
    misjudged = binary_cross_entropy_with_logits(promise, torch.stack(found))
    assert float(loss) == pytest.approx(float(torch.stack(expected).mean() + 0.1 * misjudged))


def test_without_a_density_the_sum_of_equation_9_is_shared_by_the_members(sets):
    config = replace(PLAIN, density=None)
    network = system_of(config).network
    anchors = uniform_anchors(sets.mask, 1, generator(5))
    encoded, _ = network.encode(sets.points, sets.mask)
    logits = network.guess(encoded, sets.mask[:, None], anchors)[-1].logits[:, 0]
    own = sets.mask & (sets.labels == sets.labels.gather(1, anchors))
    cross = binary_cross_entropy_with_logits(logits, own.double(), reduction="none")
    expected = (torch.where(sets.mask, cross, 0.0).sum(1) / own.sum(1)).mean()
    wanted = own[:, None].double()
    found = torch.where(sets.mask, logits.sigmoid(), 0.0)[:, None]
    both = (found * wanted).sum(-1)
    overlap = both / (found.sum(-1) + wanted.sum(-1) - both)
    promise = encoded.promise.gather(1, anchors)
    expected = expected + 0.1 * binary_cross_entropy_with_logits(promise, overlap)
    assert float(anchored_loss(network, sets, generator(5))) == pytest.approx(float(expected))


@BOTH
def test_every_weight_learns(config, sets):
    system = system_of(replace(config, questions=5)).train().requires_grad_(True)
    system.loss(sets, generator()).backward()
    for name, weight in system.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
    nothing = [name for name, weight in system.named_parameters() if not weight.grad.any()]
    # With a single key the query of the anchor block does not matter, nor the keys.
    assert all("key_value" in name or "query" in name for name in nothing)


def test_the_promised_anchor_is_the_same_in_any_order(sets):
    system = system_of(replace(BEYOND, anchor="promise"))
    one = SetBatch(sets.points[:1], sets.mask[:1])
    order = torch.randperm(one.mask.shape[1], generator=generator())
    turned = SetBatch(one.points[:, order], one.mask[:, order])
    labels = find_labels(system, one)
    assert torch.equal(find_labels(system, turned), labels[:, order])


def test_of_several_proposals_the_surest_wins(sets):
    one = replace(BEYOND, anchor="promise")
    few, many = (system_of(replace(one, proposals=n)) for n in (1, 8))
    state = few.start(sets)
    first, best = (sureness(each.step(state).membership_logits) for each in (few, many))
    assert (best >= first - 1e-12).all()  # the first of them is that of a single proposal
    assert (best > first).any()


def test_it_learns_to_find_the_cluster_of_an_anchor():
    """A few hundred steps on a CPU: far better than chance."""
    prior = MixtureOfGaussians(n_max=60, k_max=3)
    config = replace(PLAIN, width=32, k_max=3, questions=4, comparison=False)
    torch.manual_seed(0)
    system = DAC(config)
    optimizer = torch.optim.Adam(system.parameters(), 3e-3)
    for step in range(150):
        optimizer.zero_grad()
        system.loss(prior.sample(16, generator(step)), generator(~step)).backward()
        optimizer.step()
    test = prior.sample(20, generator(10**6))
    found = find_labels(system.eval(), test, generator=generator())
    scores = [
        ari(truth[mask], labels[mask])
        for truth, labels, mask in zip(test.labels, found, test.mask, strict=True)
    ]
    assert sum(scores) / len(scores) > 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"anchor": "promise"}, 'anchor needs filtering="anchored"'),
        ({"encode_once": True}, 'encode_once needs filtering="anchored"'),
        ({"filtering": "anchored", "read_width": 8}, "read_width must be 0"),
        ({"filtering": "loose"}, "filtering must be minimum_loss or anchored"),
        ({"image": (28, 28)}, "channels, height and width"),
        ({"filtering": "anchored", "density": None, "read_width": 30}, "4 heads must divide"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DACConfig(**settings)
