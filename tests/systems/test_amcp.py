from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.matching import membership_loss
from coterie.functional.mixing import E_STEPS
from coterie.systems.amcp import AMCP, AMCPConfig

SEEDS = st.integers(0, 2**31)
SMALL = AMCPConfig(width=16, read_width=16, heads=2, references=4, em_steps=2, encoder_blocks=1)
COUPLED = replace(SMALL, unroll=2, coupling=True)
ONCE = replace(COUPLED, encode_once=True, decoder_blocks=0)
FREE = replace(COUPLED, density="none")


def network_of(config: AMCPConfig) -> AMCP:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AMCP(config).double().requires_grad_(False)
        # The offsets start at zero; a test must see whether they are used.
        for name, layer in network.named_children():
            if name.endswith("offset"):
                torch.nn.init.normal_(layer.weight, std=0.1)
        return network


@pytest.fixture(
    scope="module",
    params=[*(replace(SMALL, e_step=e_step) for e_step in E_STEPS), COUPLED, ONCE, FREE],
    ids=[*E_STEPS, "coupled", "once", "free"],
)
def network(request) -> AMCP:
    return network_of(request.param)


def random_batch(seed: int, n_sets: int = 3) -> SetBatch:
    batch = MixtureOfGaussians(n_max=20, k_max=4).sample(
        n_sets, torch.Generator().manual_seed(seed)
    )
    return SetBatch(batch.points.double(), batch.mask, batch.labels)


def second_step(network: AMCP, batch: SetBatch):
    """The commit that follows after a third of the points have been taken."""
    state = network.start(batch)
    first = network.step(state)
    taken = batch.mask & (torch.arange(batch.mask.shape[1]) % 3 == 0)
    return network.step(state.after(replace(first, joined=taken)))


@given(seed=SEEDS, order=st.permutations(range(20)))
@settings(max_examples=10)
def test_step_follows_a_permutation_of_the_points(network, seed, order):
    batch = random_batch(seed)
    shuffled = SetBatch(batch.points[:, order], batch.mask[:, order])
    logits = network.step(network.start(batch)).membership_logits
    again = network.step(network.start(shuffled)).membership_logits
    torch.testing.assert_close(again, logits[:, order], rtol=1e-11, atol=1e-11)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_second_step_ignores_padding_and_companions(network, seed):
    batch = random_batch(seed)
    together = second_step(network, batch)
    for i, (points, mask) in enumerate(zip(batch.points, batch.mask, strict=True)):
        alone = second_step(network, SetBatch.single(points[mask]))
        logits = together.membership_logits[i][mask]
        torch.testing.assert_close(logits, alone.membership_logits[0], rtol=1e-11, atol=1e-11)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_replay_gives_the_logits_of_the_step(network, seed):
    batch = random_batch(seed)
    commit = second_step(network, batch)
    offered = commit.membership_logits.isfinite()
    replayed = network.replay(batch.points, [commit])[..., 0]
    torch.testing.assert_close(
        replayed[offered], commit.membership_logits[offered], rtol=1e-11, atol=1e-11
    )


def test_steps_are_replayed_together_as_one_by_one(network):
    batch = random_batch(0)
    state = network.start(batch)
    commits = [network.step(state), second_step(network, batch)]
    together = network.replay(batch.points, commits)
    for i, commit in enumerate(commits):
        alone = network.replay(batch.points, [commit])[..., 0]
        torch.testing.assert_close(together[..., i], alone, rtol=1e-11, atol=1e-11)


def test_finished_clusters_condition_the_next_only_by_their_sum():
    network, batch = network_of(COUPLED), random_batch(0)
    features, _ = network.encode(batch.points, batch.mask)
    n_points = batch.mask.sum(1)
    summaries = [
        network.summary(features.pool, batch.labels == cluster, n_points) for cluster in range(3)
    ]
    orders = [(0, 1, 2), (2, 0, 1)]
    guesses = [
        network.guess(features, batch.mask, n_points, sum(summaries[j] for j in order))[0][-1]
        for order in orders
    ]
    torch.testing.assert_close(guesses[0].logits, guesses[1].logits, rtol=1e-11, atol=1e-11)
    nothing = torch.zeros_like(summaries[0])
    unconditioned = network.guess(features, batch.mask, n_points, nothing)[0][-1]
    assert not torch.allclose(unconditioned.logits, guesses[0].logits)


def test_a_finished_cluster_without_points_leaves_nothing():
    network, batch = network_of(COUPLED), random_batch(0)
    features, _ = network.encode(batch.points, batch.mask)
    nobody = torch.zeros_like(batch.mask)
    assert not network.summary(features.pool, nobody, batch.mask.sum(1)).any()


def test_encoding_once_costs_one_encoding():
    network, calls = network_of(ONCE), []
    gather = network.encoder[0].gather
    network.encoder[0].gather = lambda *given: calls.append(1) or gather(*given)
    second_step(network, random_batch(0))
    assert len(calls) == 1


def test_loss_does_not_depend_on_the_numbers_of_the_clusters(network):
    batch = random_batch(0, n_sets=5)
    renamed = SetBatch(batch.points, batch.mask, torch.where(batch.mask, 3 - batch.labels, -1))
    torch.testing.assert_close(network.loss(batch), network.loss(renamed))


def test_unrolled_loss_counts_only_sets_that_have_clusters_left():
    # One cluster per set: after the first step nothing remains, and nothing may be added.
    batch = random_batch(0)
    alone = SetBatch(batch.points, batch.mask, torch.where(batch.mask, 0, -1))
    once = network_of(replace(COUPLED, unroll=2))
    often = network_of(replace(COUPLED, unroll=4))
    torch.testing.assert_close(once.loss(alone), often.loss(alone))


def test_without_a_density_only_the_memberships_are_told():
    network, batch = network_of(FREE), random_batch(0)
    assert network.step(network.start(batch)).gaussian is None
    features, _ = network.encode(batch.points, batch.mask)
    finished = torch.zeros(3, FREE.width, dtype=torch.float64)
    guess = network.guess(features, batch.mask, batch.mask.sum(1), finished)[0][-1]
    entropy = membership_loss(guess.logits, batch.labels, batch.mask, FREE.k_max)
    torch.testing.assert_close(network._losses(features, batch.mask, batch.labels, guess), entropy)


def test_every_weight_is_trained(network):
    trainable = network_of(network.config).requires_grad_(True)
    trainable.loss(random_batch(0)).backward()
    assert [name for name, weight in trainable.named_parameters() if weight.grad is None] == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"coupling": True, "unroll": 1}, "unroll"),
        ({"e_step": "magic"}, "regular, ot, column, got 'magic'"),
        ({"heads": 3}, "3 heads must divide"),
        ({"density": "fog"}, "gaussian or none, got 'fog'"),
    ],
)
def test_impossible_settings_are_refused(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        AMCPConfig(**wrong)


def test_it_learns():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AMCP(replace(ONCE, width=32))
    prior, losses = MixtureOfGaussians(n_max=40, k_max=3), []
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for step in range(120):
        loss = network.loss(prior.sample(16, torch.Generator().manual_seed(step % 4)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-4:]) < 0.5 * sum(losses[:4])
