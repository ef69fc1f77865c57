"""A network that starts each cluster from one of its points: how it is taught, how it begins."""

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.anchors import Anchors, draw_anchors
from coterie.systems.amcp import lessons as module
from coterie.systems.amcp.config import AMCPConfig
from coterie.systems.amcp.parts import Features, Question
from coterie.systems.amcp.steps import AMCP, refused_so_far
from coterie.systems.protocol import Commit, State

ANCHORED = AMCPConfig(
    width=16,
    read_width=16,
    heads=2,
    references=4,
    em_steps=2,
    encoder_blocks=1,
    encode_every=0,
    proposal="anchor",
    coupling=True,
    questions=3,
)
CONFIGS = {
    "anchored": ANCHORED,
    "plain": replace(ANCHORED, coupling=False, decoder_blocks=0),
    "free": replace(ANCHORED, density="none", decoder_blocks=2, refinements=1),
    "overlap": replace(ANCHORED, overlap_weight=0.5),
    "walking": replace(ANCHORED, decoder_blocks=0, landmarks=8, frequencies=2, overlap_weight=0.5),
}
EXACT = {"rtol": 1e-11, "atol": 1e-11}


class Asked(NamedTuple):
    """Questions about encoded sets, and their answers."""

    features: Features
    question: Question
    target: Tensor  # (B, A, N)
    judged: Tensor  # (B, A)

    def one(self, a: int) -> "Asked":
        """The same sets, asked for only one of the clusters."""
        remaining, n_points, finished, anchor = self.question
        pick = slice(a, a + 1)
        question = Question(remaining[:, pick], n_points, finished[:, pick], anchor[:, pick])
        return Asked(self.features, question, self.target[:, pick], self.judged[:, pick])


def network_of(config: AMCPConfig) -> AMCP:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AMCP(config).double().requires_grad_(False)
        for name, layer in network.network.named_children():
            if name.endswith("offset"):  # they start at zero, where nobody sees them
                torch.nn.init.normal_(layer.weight, std=0.1)
        return network


def random_batch(seed: int = 0, n_sets: int = 4) -> SetBatch:
    """Sets with padding, and with some points that have no cluster."""
    batch = MixtureOfGaussians(n_max=20, k_max=4).sample(n_sets, seeded(seed))
    stray = torch.arange(20) % 7 == 3
    return SetBatch(batch.points.double(), batch.mask, torch.where(stray, -1, batch.labels))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(batch: SetBatch, n_questions: int = 3, seed: int = 0) -> Anchors:
    # Many strays, so that three questions to four sets have some.
    return draw_anchors(batch.labels, batch.mask, n_questions, 4, seeded(seed), stray_anchors=0.3)


def ask(network: AMCP, batch: SetBatch, anchors: Anchors) -> Asked:
    """The questions written out, cluster by cluster and point by point."""
    features, _ = network.network.encode(batch.points, batch.mask)
    n_points = batch.mask.sum(1)
    n_sets, n_questions = anchors.point.shape
    finished = batch.points.new_zeros(n_sets, n_questions, network.config.width)
    where = batch.points.new_zeros(anchors.remaining.shape)
    for b in range(n_sets):
        for a in range(n_questions):
            where[b, a, anchors.point[b, a]] = 1.0
    for k in range(4):
        members = (batch.mask & (batch.labels == k))[:, None]
        summary = network.network.summary(features.pool, members, n_points)  # (B, 1, C)
        finished = finished + anchors.finished[..., k, None] * summary
    question = Question(anchors.remaining, n_points, finished, where)
    return Asked(features, question, anchors.target, anchors.judged)


@pytest.fixture(scope="module", params=CONFIGS.values(), ids=CONFIGS)
def network(request) -> AMCP:
    return network_of(request.param)


@pytest.fixture
def asked(network) -> Asked:
    batch = random_batch()
    return ask(network, batch, draw(batch))


# How it is taught


def test_the_loss_is_that_of_the_questions_drawn(network):
    batch = random_batch()
    drawn = draw_anchors(batch.labels, batch.mask, 3, 4, seeded(7))
    expected = network.lessons.anchor_loss(*ask(network, batch, drawn))
    torch.testing.assert_close(network.loss(batch, seeded(7)), expected, **EXACT)
    assert not torch.allclose(network.loss(batch, seeded(8)), expected)


def test_questions_asked_at_once_cost_the_mean_of_asking_one_by_one(network, asked):
    together = network.lessons.anchor_loss(*asked)
    one_by_one = [network.lessons.anchor_loss(*asked.one(a)) for a in range(3)]
    torch.testing.assert_close(together, torch.stack(one_by_one).mean(), **EXACT)


def test_a_question_does_not_see_its_companions(network, asked):
    together, slots = network.network.guess(asked.features, asked.question)
    for a in range(3):
        alone, own_slots = network.network.guess(asked.features, asked.one(a).question)
        for guess, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(guess.logits[:, a], expected.logits[:, 0], **EXACT)
            for part, own in zip(guess.belief, expected.belief, strict=True):
                torch.testing.assert_close(part[:, a], own[:, 0], **EXACT)
        for slot, own in zip(slots, own_slots, strict=True):
            torch.testing.assert_close(slot.unflatten(0, (4, 3))[:, a], own, **EXACT)


def test_the_anchor_decides_which_cluster_is_found(network):
    batch = random_batch()
    drawn = draw(batch)
    other = drawn._replace(point=draw(batch, seed=1).point)
    guesses = [
        network.network.guess(features, question)[0][-1].logits
        for features, question, *_ in (ask(network, batch, drawn), ask(network, batch, other))
    ]
    moved = (drawn.point != other.point)[..., None].expand_as(guesses[0])
    assert moved.any()
    assert not torch.isclose(guesses[0], guesses[1])[moved].any()


def test_loss_agrees_with_a_loop_over_sets_that_are_alone(network):
    """Every set without its padding and companions, every question by itself."""
    batch = random_batch()
    drawn, costs = draw(batch, n_questions=2), []
    for b, a in [(b, a) for b in range(4) for a in range(2)]:
        own = batch.mask[b]
        single = SetBatch(
            batch.points[b : b + 1, own], own[None, own], batch.labels[b : b + 1, own]
        )
        point = own[: drawn.point[b, a]].sum()[None, None]  # its number among the valid ones
        _, remaining, finished, target, judged = (part[b : b + 1, a : a + 1] for part in drawn)
        alone = Anchors(point, remaining[..., own], finished, target[..., own], judged)
        costs.append(by_hand(network, *ask(network, single, alone)))
    expected = torch.stack(costs).mean()
    found = network.lessons.anchor_loss(*ask(network, batch, drawn))
    torch.testing.assert_close(found, expected, **EXACT)


def by_hand(
    network: AMCP, features: Features, question: Question, target: Tensor, judged: Tensor
) -> Tensor:
    """The loss of one question to one set, in other words than the network's."""
    remaining, target, losses = question.remaining[0, 0], target[0, 0], []
    guesses, _ = network.network.guess(features, question)
    for guess in guesses:
        logits, (_, mean, log_scale, _) = guess.logits[0, 0], guess.belief
        loss = binary_cross_entropy_with_logits(logits[remaining], target[remaining].double())
        if network.network.located and target.any():
            normal = Normal(mean[0, 0], log_scale[0, 0].exp())
            fit = -normal.log_prob(features.points[0, target]).sum(1).mean()
            loss = loss + (fit if fit <= 8 else 8 + torch.log(fit - 7))
        if target.any():
            loss = loss + network.config.overlap_weight * (
                1 - shared_part(logits, target, remaining)
            )
        losses.append(loss)
    misjudged = torch.zeros(())
    if judged[0, 0]:
        shared = shared_part(guesses[-1].logits[0, 0], target, remaining)
        (anchor,) = question.anchor[0, 0].nonzero()
        promise = features.promise[0, anchor, 0][0]
        misjudged = -shared * logsigmoid(promise) - (1 - shared) * logsigmoid(-promise)
    return losses[-1] + 0.3 * sum(losses[:-1]) + 0.1 * misjudged


def shared_part(logits: Tensor, target: Tensor, remaining: Tensor) -> Tensor:
    """What a guess has in common with its answer, of all that either has."""
    found = logits.sigmoid()
    return found[target].sum() / (target.sum() + found[remaining & ~target].sum())


def test_only_anchors_that_are_judged_say_what_they_promise(network, asked):
    boasting = asked.features._replace(promise=asked.features.promise + 10)
    cost, without = (
        network.lessons.anchor_loss(boasting, asked.question, asked.target, judged)
        - network.lessons.anchor_loss(asked.features, asked.question, asked.target, judged)
        for judged in (asked.judged, torch.zeros_like(asked.judged))
    )
    assert cost > 0
    assert without == 0


def test_a_point_without_a_cluster_learns_to_promise_nothing(network, asked):
    nothing = torch.zeros_like(asked.target)
    promise = asked.features.promise.clone().requires_grad_()
    features = asked.features._replace(promise=promise)
    judged = torch.ones_like(asked.judged)
    network.lessons.anchor_loss(features, asked.question, nothing, judged).backward()
    is_anchor = asked.question.anchor.any(1)
    assert (promise.grad[is_anchor] > 0).all()  # the step goes down
    assert not promise.grad[~is_anchor].any()


def test_the_promise_is_learnt_and_bends_nothing_else(network):
    def gradients(boast: float) -> dict[str, Tensor]:
        taught = network_of(network.config).requires_grad_(True)
        with torch.no_grad():
            taught.network.promise[-1].bias += boast
        taught.loss(random_batch(), seeded(0)).backward()
        return {name: weight.grad for name, weight in taught.named_parameters()}

    humble, boasting = gradients(0.0), gradients(10.0)
    for name, gradient in humble.items():
        if name.startswith("network.promise."):
            assert gradient.any(), name
            assert not torch.allclose(gradient, boasting[name]), name
        else:
            torch.testing.assert_close(boasting[name], gradient, **EXACT, msg=name)


def test_the_promise_of_a_point_has_no_way_into_the_encoder(network):
    taught, batch = network_of(network.config).requires_grad_(True), random_batch()
    features, _ = taught.network.encode(batch.points, batch.mask)
    features.promise[batch.mask].sum().backward()
    reached = {name for name, weight in taught.named_parameters() if weight.grad is not None}
    promise = dict(taught.network.promise.named_parameters())
    assert reached == {f"network.promise.{name}" for name in promise}


def test_loss_does_not_depend_on_the_numbers_of_the_clusters(network, monkeypatch):
    batch = random_batch()
    labelled = batch.labels >= 0
    renamed = SetBatch(batch.points, batch.mask, torch.where(labelled, 3 - batch.labels, -1))
    drawn = draw(batch)
    assert drawn.finished.any()
    monkeypatch.setattr(module, "draw_anchors", lambda *_: drawn)
    expected = network.loss(batch)
    swapped = drawn._replace(finished=drawn.finished.flip(2))
    monkeypatch.setattr(module, "draw_anchors", lambda *_: swapped)
    torch.testing.assert_close(network.loss(renamed), expected, **EXACT)
    if network.config.coupling:  # the wrong clusters said to be finished are noticed
        monkeypatch.setattr(module, "draw_anchors", lambda *_: drawn)
        assert not torch.allclose(network.loss(renamed), expected)


def test_a_set_without_points_costs_nothing_and_spoils_nothing(network):
    batch = random_batch(n_sets=2)
    nobody = batch.keep(torch.tensor([[True], [False]]).expand_as(batch.mask))
    drawn = draw(nobody)
    drawn = drawn._replace(judged=drawn.judged & drawn.target.any(2))
    taught = network_of(network.config).requires_grad_(True)
    alone = SetBatch(batch.points[:1], batch.mask[:1], batch.labels[:1])
    expected = taught.lessons.anchor_loss(
        *ask(taught, alone, Anchors(*(part[:1] for part in drawn)))
    )
    loss = taught.lessons.anchor_loss(*ask(taught, nobody, drawn))
    torch.testing.assert_close(loss, expected / 2, **EXACT)
    loss.backward()
    assert all(weight.grad.isfinite().all() for weight in taught.parameters())


# Where a step begins


def test_a_step_begins_at_the_most_promising_point_that_nobody_wanted():
    network, generator = network_of(ANCHORED).network, seeded(0)
    mask = torch.rand(3, 8, generator=generator) < 0.7
    promise = torch.randn(3, 8, 1, generator=generator, dtype=torch.float64)
    wanted = 3 * torch.randn(3, 2, 8, generator=generator, dtype=torch.float64)
    wanted[:, 0, 0] = -torch.inf  # was not offered to the first cluster
    batch = SetBatch(torch.zeros(3, 8, 2, dtype=torch.float64), mask)
    commits = tuple(Commit(~mask, logits, ()) for logits in wanted.unbind(1))
    weights = network.anchors(promise, refused_so_far(State(batch, mask, commits)), mask)
    weights = weights[:, 0]
    for b in range(3):
        outlook = promise[b, :, 0].sigmoid() * (1 - wanted[b].sigmoid()).prod(0)
        best = max((i for i in range(8) if mask[b, i]), key=lambda i, by=outlook: by[i])
        assert weights[b].nonzero().flatten().tolist() == [best]
        assert weights[b, best] == 1


def test_a_point_that_a_cluster_nearly_took_is_no_place_to_begin():
    network, mask = network_of(ANCHORED).network, torch.ones(1, 3, dtype=torch.bool)
    promise = torch.tensor([[[2.0], [1.0], [0.0]]])
    batch = SetBatch(torch.zeros(1, 3, 2), mask)
    assert network.anchors(promise, torch.zeros(1, 3, 1), mask).tolist() == [[[1, 0, 0]]]
    refusal = Commit(~mask, torch.tensor([[-0.1, -9.0, -9.0]]), ())
    refused = refused_so_far(State(batch, mask, (refusal,)))
    assert network.anchors(promise, refused, mask).tolist() == [[[0, 1, 0]]]


def test_equal_promises_share_and_nobody_has_none():
    network = network_of(ANCHORED).network
    mask = torch.tensor([[True, True, False, True], [False] * 4])
    promise = torch.tensor([1.0, 0.0, 1.0, 1.0])[None, :, None].expand(2, -1, -1)
    weights = network.anchors(promise, torch.zeros(2, 4, 1), mask)
    assert weights.tolist() == [[[0.5, 0, 0, 0.5]], [[0] * 4]]


def test_a_step_asks_from_its_anchor(network):
    batch = random_batch()
    features, _ = network.network.encode(batch.points, batch.mask)
    best = torch.where(batch.mask, features.promise[..., 0], -torch.inf).argmax(1)
    where = torch.nn.functional.one_hot(best, batch.mask.shape[1])[:, None].double()
    nothing = batch.points.new_zeros(4, 1, network.config.width)
    question = Question(batch.mask[:, None], batch.mask.sum(1), nothing, where)
    expected = network.network.guess(features, question)[0][-1].logits[:, 0]
    found = network.step(network.start(batch)).membership_logits
    torch.testing.assert_close(found[batch.mask], expected[batch.mask], **EXACT)
