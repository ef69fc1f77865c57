"""Anchored filtering (DAC, eq. 7-9): steps and loss of a network that starts from a point."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from coterie.data.batch import Compaction, SetBatch, compact
from coterie.functional.anchors import draw_anchors, uniform_anchors
from coterie.functional.matching import overlap, sureness
from coterie.functional.partitions import one_hot
from coterie.systems.dac.anchored_network import Anchor, AnchoredNetwork, Encoded, Guess
from coterie.systems.protocol import Commit, State, require_labels

EARLIER = 0.3  # the weight of looks before the last, which only serve refinement
PROMISE = 0.1  # the weight of the promise's loss
STRAY_POINTS = 0.05  # of a cluster that was found, the share that is left behind at most


class Kept(NamedTuple):
    """What a step leaves for the next one where points are encoded once."""

    left: Compaction
    encoded: Encoded
    slots: tuple[Tensor, ...]


def anchored_step(
    network: AnchoredNetwork, state: State, generator: Generator | None = None
) -> Commit:
    """The cluster of an anchor: eq. 8, and the points above one half beside the anchor itself."""
    config = network.config
    kept = _kept(network, state)
    left, encoded = kept.left, kept.encoded
    mask = left.mask & left.take(state.remaining)  # (B, M)
    anchors = _anchors(config.anchor, config.proposals, encoded, mask, state, left, generator)
    remaining = mask[:, None].expand(-1, anchors.shape[1], -1)
    guess = network.guess(encoded, remaining, anchors)[-1]
    logits = torch.where(remaining, guess.logits.float(), -torch.inf)  # (B, A, M)
    surest = sureness(logits).argmax(1)  # (B,)
    guess, logits = _of_anchor(guess, surest), _pick(logits, surest)[:, 0]
    itself = one_hot(_pick(anchors[..., None], surest)[:, 0, 0], mask.shape[1])
    joined = mask & ((logits > 0) | itself)
    decided = torch.where(mask & ~itself, logsigmoid(logits.abs()), 0.0).sum(1)
    memory = (*kept.slots, *guess.anchor, *guess.slots)
    return Commit(
        left.scatter(joined, False),
        left.scatter(logits),
        memory,
        log_probability=decided,
        density=network.density(guess.slots),
        encoded=kept if config.encode_once else None,
    )


def replay_anchored(network: AnchoredNetwork, points: Tensor, commits: Sequence[Commit]) -> Tensor:
    """Membership logits of any points (B, M, D) in S steps that were taken: (B, M, S)."""
    logits: list[Tensor] = []
    slots: tuple[Tensor, ...] = ()
    n_slots = len(network.encoder)
    for number, commit in enumerate(commits):
        own, rest = commit.memory[:n_slots], commit.memory[n_slots:]
        if not number or not all(map(torch.equal, slots, own)):
            slots, encoded = own, network.view(points, own)
        logits.append(network.read(encoded, Anchor(*rest[:2]), rest[2:])[:, 0])
    return torch.stack(logits, -1)


def anchored_loss(
    network: AnchoredNetwork, batch: SetBatch, generator: Generator | None = None
) -> Tensor:
    """Eq. 7 (eq. 9 without a density), averaged over the anchors of all sets.

    The paper draws one anchor for a set; several share the blocks before the anchor. Without a
    density the sum of eq. 9 is divided by the size of the anchor's cluster, not left to grow with
    the set: among fifty clusters a mean over all points would hardly see that one.
    """
    labels, config = require_labels(batch), network.config
    encoded, _ = network.encode(batch.points, batch.mask)
    asked = _ask(network, labels, batch.mask, generator)
    size, counted = asked.target.sum(-1), asked.target.any(-1)  # (B, A)
    per = size if config.density is None else asked.remaining.sum(-1)
    wanted = asked.target.float()
    guesses = network.guess(encoded, asked.remaining, asked.point)
    losses = []
    for guess in guesses:
        wrong = binary_cross_entropy_with_logits(guess.logits, wanted, reduction="none")
        missed = torch.where(asked.remaining, wrong, 0.0).sum(-1) / per.clamp_min(1)
        missed = missed + _misfit(network, batch.points, guess, asked.target, size, generator)
        losses.append(torch.where(counted, missed, 0.0).sum() / counted.sum().clamp_min(1))
    found = torch.where(asked.remaining, guesses[-1].logits.detach().sigmoid(), 0.0)
    misjudged = binary_cross_entropy_with_logits(
        encoded.promise.gather(1, asked.point), overlap(found, wanted), weight=counted.float()
    )
    total = losses[-1] + EARLIER * sum(losses[:-1], torch.zeros_like(losses[-1]))
    return total + PROMISE * misjudged


class _Asked(NamedTuple):
    """Anchors (B, A), the points that remain and the clusters to be found, (B, A, N) bool."""

    point: Tensor
    remaining: Tensor
    target: Tensor


def _ask(
    network: AnchoredNetwork, labels: Tensor, mask: Tensor, generator: Generator | None
) -> _Asked:
    """Anchors for labelled sets (B, N).

    Where every step encodes what remains, the sets are what remains, as in the paper. Where points
    are encoded once, clusters are taken away behind the encoder, as the loop will do.
    """
    config = network.config
    if config.encode_once:
        drawn = draw_anchors(
            labels,
            mask,
            config.questions,
            config.k_max,
            generator,
            stray_anchors=0.0,
            stray_points=STRAY_POINTS,
        )
        return _Asked(drawn.point, drawn.remaining, drawn.target)
    point = uniform_anchors(mask, config.questions, generator)
    of_anchor = labels.gather(1, point)[..., None]  # (B, A, 1)
    remaining = mask[:, None].expand(-1, config.questions, -1)
    return _Asked(point, remaining, remaining & (labels[:, None] == of_anchor) & (of_anchor >= 0))


def _misfit(
    network: AnchoredNetwork,
    points: Tensor,
    guess: Guess,
    target: Tensor,
    size: Tensor,
    generator: Generator | None,
) -> Tensor:
    """Minus the mean log-density of the points of each anchor's cluster: (B, A), or zero."""
    each = points[:, None].expand(-1, target.shape[1], *points.shape[1:]).flatten(0, 1)
    log_density = network.log_density(each, guess.slots, generator)
    if log_density is None:
        return torch.zeros_like(size, dtype=guess.logits.dtype)
    inside = torch.where(target, log_density.view_as(target), 0.0)
    return -inside.sum(-1) / size.clamp_min(1)


def _kept(network: AnchoredNetwork, state: State) -> Kept:
    """The encoding of the points: of those that remain, or once of all."""
    if network.config.encode_once:
        if isinstance(state.encoded, Kept):
            return state.encoded
        left = compact(state.batch.mask)
    else:
        left = compact(state.remaining)
    encoded, slots = network.encode(left.take(state.batch.points), left.mask)
    return Kept(left, encoded, slots)


def _anchors(
    kind: str,
    n_anchors: int,
    encoded: Encoded,
    mask: Tensor,
    state: State,
    left: Compaction,
    generator: Generator | None,
) -> Tensor:
    """The anchors of a step among the points at hand, mask (B, M) -> indices (B, A).

    By their promise, the best are those that earlier clusters have surely refused, as in AMCP.
    """
    if kind == "random":
        return uniform_anchors(mask, n_anchors, generator)
    outlook = logsigmoid(encoded.promise)
    if state.commits:
        wanted = torch.stack([commit.membership_logits for commit in state.commits], -1)
        outlook = outlook + left.take(logsigmoid(-wanted).sum(-1))
    outlook = torch.where(mask, outlook, -torch.inf)
    order = outlook.argsort(dim=1, descending=True, stable=True)
    # The best, then others at even ranks of the outlook, so that they lie in other clusters.
    spread = torch.arange(n_anchors, device=mask.device) * mask.sum(1, keepdim=True)
    return order.gather(1, spread // n_anchors)


def _pick(parts: Tensor, number: Tensor) -> Tensor:
    """One of the A parts of each set: (B, A, ...), (B,) -> (B, 1, ...)."""
    index = number.view(-1, *[1] * (parts.ndim - 1)).expand(-1, 1, *parts.shape[2:])
    return parts.gather(1, index)


def _of_anchor(guess: Guess, number: Tensor) -> Guess:
    """The guess of one anchor of each set."""
    n_sets, n_anchors = guess.logits.shape[:2]
    anchor = Anchor(*(_pick(part, number) for part in guess.anchor))
    slots = tuple(
        _pick(slot.unflatten(0, (n_sets, n_anchors)), number)[:, 0] for slot in guess.slots
    )
    return Guess(anchor, _pick(guess.logits, number), slots)
