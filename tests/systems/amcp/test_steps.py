from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.matching import membership_loss
from coterie.functional.mixing import E_STEPS
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.parts import Question
from coterie.systems.amcp.steps import AMCP

SEEDS = st.integers(0, 2**31)
SMALL = AMCPConfig(width=16, read_width=16, heads=2, references=4, em_steps=2, encoder_blocks=1)
COUPLED = replace(SMALL, questions=2, coupling=True)
ONCE = replace(COUPLED, encode_every=0, decoder_blocks=0)
FREE = replace(COUPLED, density="none")
ANCHORED = replace(ONCE, proposal="anchor", decoder_blocks=1)
IN_TURN = {
    **{e_step: replace(SMALL, e_step=e_step) for e_step in E_STEPS},
    "coupled": COUPLED,
    "once": ONCE,
    "free": FREE,
    "every-other": replace(COUPLED, questions=3, encode_every=2),
}
AT_ONCE = {
    "anchored": ANCHORED,
    "anchored-plain": replace(ANCHORED, coupling=False, decoder_blocks=0, e_step="regular"),
    "anchored-free": replace(ANCHORED, density="none", decoder_blocks=2),
    "anchored-anew": replace(ANCHORED, encode_every=1),
    "anchored-every-other": replace(ANCHORED, encode_every=2),
}
WALKING = replace(
    ANCHORED, decoder_blocks=0, density="none", frequencies=2, landmarks=8, overlap_weight=0.5
)
AT_ONCE["walking"] = WALKING
AT_ONCE["walking-crowd"] = replace(WALKING, landmarks=30, density="gaussian")
AT_ONCE["comparing"] = replace(WALKING, landmarks=0, density="gaussian", proposals=3)
AT_ONCE["walking-comparing"] = replace(WALKING, proposals=3, encoder_blocks=2)
NETWORKS = {**IN_TURN, **AT_ONCE}


def network_of(config: AMCPConfig) -> AMCP:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AMCP(config).double().requires_grad_(False)
        # The offsets start at zero; a test must see whether they are used.
        for name, layer in network.network.named_children():
            if name.endswith("offset"):
                torch.nn.init.normal_(layer.weight, std=0.1)
        return network


@pytest.fixture(scope="module", params=NETWORKS.values(), ids=NETWORKS)
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


def steps(network: AMCP, batch: SetBatch, n_steps: int):
    """Commits in a row, each of which takes every n-th of the points."""
    state, commits = network.start(batch), []
    for turn in range(n_steps):
        taken = state.remaining & (torch.arange(batch.mask.shape[1]) % (n_steps + 1) == turn)
        commits.append(replace(network.step(state), joined=taken))
        state = state.after(commits[-1])
    return commits


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
    commits = steps(network, batch, 4)
    together = network.replay(batch.points, commits)
    for i, commit in enumerate(commits):
        alone = network.replay(batch.points, [commit])[..., 0]
        torch.testing.assert_close(together[..., i], alone, rtol=1e-11, atol=1e-11)
        logits = commit.membership_logits
        offered = logits.isfinite()
        torch.testing.assert_close(alone[offered], logits[offered], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "config",
    [
        ANCHORED,
        COUPLED,
        replace(ANCHORED, encode_every=2),
    ],
    ids=lambda config: f"every-{config.encode_every}",
)
def test_some_of_the_steps_are_replayed_as_all_of_them(config):
    network, batch = network_of(config), random_batch(0)
    commits = steps(network, batch, 4)
    together = network.replay(batch.points, commits)
    later = network.replay(batch.points, commits[1:])
    torch.testing.assert_close(later, together[..., 1:], rtol=1e-11, atol=1e-11)


def members_of(batch: SetBatch, n_clusters: int) -> torch.Tensor:
    """(B, K, N) bool"""
    return torch.stack([batch.mask & (batch.labels == j) for j in range(n_clusters)], 1)


def everything(batch: SetBatch, finished: torch.Tensor) -> Question:
    """Among all points, what comes after the finished (B, A, C), from the first point if any."""
    remaining = batch.mask[:, None].expand(-1, finished.shape[1], -1)
    first = (torch.arange(batch.mask.shape[1]) == 0).double().expand(remaining.shape)
    return Question(remaining, batch.mask.sum(1), finished, first)


@pytest.mark.parametrize("config", [COUPLED, ANCHORED], ids=["coupled", "anchored"])
def test_finished_clusters_condition_the_next_only_by_their_sum(config):
    network, batch = network_of(config).network, random_batch(0)
    features, _ = network.encode(batch.points, batch.mask)
    summaries = network.summary(features.pool, members_of(batch, 3), batch.mask.sum(1))
    orders = [(0, 1, 2), (2, 0, 1)]
    found = [sum(summaries[:, j] for j in order) for order in orders]
    nothing = torch.zeros_like(found[0])

    def logits(*finished):
        question = everything(batch, torch.stack(finished, 1))
        return network.guess(features, question)[0][-1].logits

    together = logits(*found, nothing)
    torch.testing.assert_close(together[:, 0], together[:, 1], rtol=1e-11, atol=1e-11)
    assert not torch.allclose(together[:, 0], together[:, 2])
    # Asked alone, each order gives the same as well.
    for a, finished in enumerate((*found, nothing)):
        alone = logits(finished)[:, 0]
        torch.testing.assert_close(together[:, a], alone, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("config", [COUPLED, ANCHORED], ids=["coupled", "anchored"])
def test_the_order_in_which_clusters_were_found_is_no_matter(config):
    system, batch = network_of(config), random_batch(0)
    start = system.start(batch)
    first = system.step(start)
    taken = [batch.mask & (torch.arange(batch.mask.shape[1]) % 3 == j) for j in range(2)]
    pool = system.network.encode(batch.points, batch.mask)[0].pool
    summaries = system.network.summary(pool, torch.stack(taken, 1), batch.mask.sum(1))
    commits = [
        replace(first, joined=joined, memory=(*first.memory[:-1], summaries[:, j : j + 1]))
        for j, joined in enumerate(taken)
    ]
    assert not torch.allclose(summaries[:, 0], summaries[:, 1])
    logits = [
        system.step(start.after(commits[i]).after(commits[1 - i])).membership_logits
        for i in range(2)
    ]
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-11, atol=1e-11)


def test_summaries_of_several_clusters_are_those_of_each():
    network, batch = network_of(COUPLED).network, random_batch(0)
    pool, members = network.encode(batch.points, batch.mask)[0].pool, members_of(batch, 3)
    n_points = batch.mask.sum(1)
    together = network.summary(pool, members, n_points)
    for j in range(3):
        alone = network.summary(pool, members[:, j : j + 1], n_points)[:, 0]
        torch.testing.assert_close(together[:, j], alone, rtol=1e-11, atol=1e-11)
    # By hand for one: the mean of its members and its share, weighted by the share.
    own = members[0, 0]
    share = own.sum().double() / n_points[0]
    seen = torch.cat([pool[0, own].mean(0), share.log()[None]])
    expected = share * network.summarise(seen)
    torch.testing.assert_close(together[0, 0], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("config", [ONCE, ANCHORED], ids=["once", "anchored"])
def test_a_step_leaves_the_summary_of_the_points_it_claims(config):
    system, batch = network_of(config), random_batch(0)
    commit = system.step(system.start(batch))
    assert (commit.joined.any(1) & (commit.joined != batch.mask).any(1)).any()
    features, _ = system.network.encode(batch.points, batch.mask)
    expected = system.network.summary(features.pool, commit.joined[:, None], batch.mask.sum(1))
    torch.testing.assert_close(commit.memory[-1], expected, rtol=1e-11, atol=1e-11)


def test_a_finished_cluster_without_points_leaves_nothing():
    network, batch = network_of(COUPLED).network, random_batch(0)
    features, _ = network.encode(batch.points, batch.mask)
    nobody = torch.zeros(3, 2, batch.mask.shape[1], dtype=torch.bool)
    summary = network.summary(features.pool, nobody, batch.mask.sum(1))
    assert summary.shape == (3, 2, COUPLED.width)
    assert not summary.any()


def test_without_coupling_finished_clusters_leave_nothing():
    network, batch = network_of(SMALL).network, random_batch(0)
    features, _ = network.encode(batch.points, batch.mask)
    summary = network.summary(features.pool, members_of(batch, 2), batch.mask.sum(1))
    assert summary.shape == (3, 2, SMALL.width)
    assert not summary.any()


@pytest.mark.parametrize("config", [ONCE, ANCHORED], ids=["once", "anchored"])
@pytest.mark.parametrize(
    ("encode_every", "sizes"),
    [(0, [20]), (1, [20, 16, 12, 9, 6]), (2, [20, 12, 6]), (9, [20])],
)
def test_points_that_remain_are_encoded_anew_after_so_many_clusters(config, encode_every, sizes):
    network, heard = network_of(replace(config, encode_every=encode_every)), []
    (block,) = network.network.encoder.blocks
    gather = block.gather
    block.gather = lambda x, mask: heard.append(mask.sum().item()) or gather(x, mask)
    points = random_batch(0).points[0]
    steps(network, SetBatch.single(points), 5)
    assert heard == sizes


def test_points_that_were_taken_do_not_join_again(network):
    batch = random_batch(0)
    remaining = batch.mask
    for commit in steps(network, batch, 4):
        assert torch.equal(commit.membership_logits.isfinite(), remaining)
        remaining = remaining & ~commit.joined


@pytest.mark.parametrize("encode_every", [0, 1, 2])
def test_the_loss_in_turn_encodes_when_the_loop_does(encode_every):
    network, heard = network_of(replace(COUPLED, questions=5, encode_every=encode_every)), []
    encode = network.network.encode
    network.network.encode = lambda points, mask: heard.append(mask) or encode(points, mask)
    labels = torch.arange(20) % 4
    batch = SetBatch(random_batch(0).points[:1], torch.ones(1, 20).bool(), labels[None])
    network.loss(batch)
    sizes = {0: [20], 1: [20, 15, 10, 5, 0], 2: [20, 10, 0]}
    assert [mask.sum().item() for mask in heard] == sizes[encode_every]


@pytest.mark.parametrize("config", IN_TURN.values(), ids=IN_TURN)
def test_loss_does_not_depend_on_the_numbers_of_the_clusters(config):
    network, batch = network_of(config), random_batch(0, n_sets=5)
    renamed = SetBatch(batch.points, batch.mask, torch.where(batch.mask, 3 - batch.labels, -1))
    torch.testing.assert_close(network.loss(batch), network.loss(renamed))


def test_unrolled_loss_counts_only_sets_that_have_clusters_left():
    # One cluster per set: after the first step nothing remains, and nothing may be added.
    batch = random_batch(0)
    alone = SetBatch(batch.points, batch.mask, torch.where(batch.mask, 0, -1))
    once = network_of(replace(COUPLED, questions=2))
    often = network_of(replace(COUPLED, questions=4))
    torch.testing.assert_close(once.loss(alone), often.loss(alone))


def with_strays(batch: SetBatch) -> SetBatch:
    """The same points, of which every fifth has no cluster."""
    stray = torch.arange(batch.mask.shape[1]) % 5 == 2
    return SetBatch(batch.points, batch.mask, torch.where(stray, -1, batch.labels))


def test_unrolled_loss_counts_no_set_of_which_strays_are_left():
    batch = random_batch(0)
    alone = with_strays(SetBatch(batch.points, batch.mask, torch.where(batch.mask, 0, -1)))
    once = network_of(replace(COUPLED, questions=2))
    often = network_of(replace(COUPLED, questions=4))
    torch.testing.assert_close(once.loss(alone), often.loss(alone))


def test_strays_belong_to_no_cluster_but_are_refused():
    system, batch = network_of(COUPLED), random_batch(0)
    network, lessons = system.network, system.lessons
    features, _ = network.encode(batch.points, batch.mask)
    finished = torch.zeros(3, 1, COUPLED.width, dtype=torch.float64)
    guess = network.guess(features, everything(batch, finished))[0][-1]
    strays = with_strays(batch)
    losses = lessons._losses(features, batch.mask, strays.labels, guess)
    density = network.log_density(features, guess.belief)[:, 0]
    for b in range(3):
        valid, j = batch.mask[b], int(strays.labels[b].max())
        own = valid & (strays.labels[b] == j)
        entropy = binary_cross_entropy_with_logits(guess.logits[b, 0, valid], own[valid].double())
        fit = -density[b, own].mean()
        expected = entropy + torch.where(fit > 8, 8 + torch.log1p((fit - 8).clamp_min(0)), fit)
        torch.testing.assert_close(losses[b, j], expected)


def test_without_a_density_only_the_memberships_are_told():
    system, batch = network_of(FREE), random_batch(0)
    network = system.network
    assert system.step(system.start(batch)).density is None
    features, _ = network.encode(batch.points, batch.mask)
    finished = torch.zeros(3, 1, FREE.width, dtype=torch.float64)
    guess = network.guess(features, everything(batch, finished))[0][-1]
    entropy = membership_loss(guess.logits[:, 0], batch.labels, batch.mask, FREE.k_max)
    losses = system.lessons._losses(features, batch.mask, batch.labels, guess)
    torch.testing.assert_close(losses, entropy)


def test_every_weight_is_trained(network):
    trainable = network_of(network.config).requires_grad_(True)
    trainable.loss(random_batch(0), torch.Generator().manual_seed(0)).backward()
    assert [name for name, weight in trainable.named_parameters() if weight.grad is None] == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"coupling": True, "questions": 1}, "questions"),
        ({"e_step": "magic"}, "regular, ot, column, got 'magic'"),
        ({"heads": 3}, "3 heads must divide"),
        ({"density": "fog"}, "gaussian or none, got 'fog'"),
        ({"activation": "step"}, "gelu or relu, got 'step'"),
        ({"proposal": "guess"}, "seed or anchor, got 'guess'"),
        ({"encode_every": -1}, "encode_every must be 0 or more, got -1"),
        ({"landmarks": -1}, "landmarks must be 0 or more, got -1"),
        ({"frequencies": -2}, "frequencies must be 0 or more, got -2"),
        ({"questions": 0}, "questions must be 1 or more, got 0"),
        ({"proposals": 0}, "proposals must be 1 or more, got 0"),
        ({"walk_dropout": 1.5}, "walk_dropout must lie between 0 and 1, got 1.5"),
    ],
)
def test_impossible_settings_are_refused(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        AMCPConfig(**wrong)


def test_anchors_need_no_second_question_to_learn_coupling():
    # Some clusters of their sets count as found before, whatever else is asked.
    config = AMCPConfig(proposal="anchor", encode_every=0, coupling=True, questions=1)
    assert config.coupling


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
