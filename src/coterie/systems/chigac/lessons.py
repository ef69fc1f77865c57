"""The steps that generate a labelled set, all of them at once.

The order of the clusters is the model's own: in each step the next cluster is the one that the
pioneer most probably belongs to. Any order gives a lower bound of the partition's log-likelihood,
which sums over all of them.

Shapes: B sets of N points, K clusters, and as many steps.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, no_grad

from coterie.functional.partitions import one_hot
from coterie.systems.chigac.bound import Bound
from coterie.systems.chigac.network import CHiGacNetwork, Embedded, Known
from coterie.systems.chigac.posterior import Gaussian

GUMBEL = 0.5  # the temperature of the relaxed draw of a pioneer


class Order(NamedTuple):
    """Which cluster each step generates, and what was there before.

    target: (B, K), a cluster; found: (B, K, K) bool, the clusters before each step; exists: (B, K)
    bool, False for steps that a set does not have.
    """

    target: Tensor
    found: Tensor
    exists: Tensor


class Lesson(NamedTuple):
    """The bound of every step as a function of psi, the encoder's psi_0, and which steps exist."""

    bound: Bound
    first: Gaussian
    exists: Tensor


def order_of(
    network: CHiGacNetwork, embedded: Embedded, members: Tensor, clusters: Tensor
) -> Order:
    """The order of clusters (B, K, N) bool with their slots (B, K, R, C)."""
    present = members.any(2)  # (B, K)
    done = ~present
    targets, found, exists = [], [], []
    with no_grad():
        for number in range(members.shape[1]):
            before = present & done
            left = (members & ~done[..., None]).any(1)  # (B, N)
            known = network.know(embedded.points, left[:, None], clusters[:, None], before[:, None])
            step = torch.full((1,), number, device=members.device)
            logits = network.pioneer_logits(embedded, known, step)[:, 0]
            chances = torch.where(left, logits, -torch.inf).softmax(1).nan_to_num()
            mass = (members.to(chances) @ chances[..., None])[..., 0]  # (B, K)
            target = torch.where(done, -1.0, mass).argmax(1)
            targets.append(target)
            found.append(before)
            exists.append(~done.all(1))
            done = done | one_hot(target, members.shape[1])
    return Order(*(torch.stack(parts, 1) for parts in (targets, found, exists)))


def lesson(
    network: CHiGacNetwork,
    embedded: Embedded,
    labels: Tensor,
    n_clusters: int,
    generator: Generator | None,
) -> Lesson:
    """The bounds of the steps that generate labelled sets: labels (B, N), -1 for none."""
    points = embedded.points
    members = one_hot(labels, n_clusters).transpose(1, 2)  # (B, K, N)
    clusters = network.summarise(points, members)  # (B, K, R, C)
    target, found, exists = order_of(network, embedded, members, clusters)
    picked = target[..., None].expand(-1, -1, members.shape[2])
    own = members.gather(1, picked) & exists[..., None]  # (B, K, N), the points of each step
    assigned = (found.to(points) @ members.to(points)) > 0.5
    left = members.any(1)[:, None] & ~assigned & exists[..., None]
    every = clusters[:, None].expand(-1, n_clusters, -1, -1, -1)  # (B, K, K, R, C)
    known = network.know(points, left, every, found)

    number = torch.arange(n_clusters, device=labels.device)
    log_p = _log_softmax(network.pioneer_logits(embedded, known, number), left)
    log_q = _log_softmax(log_p, own)
    chosen = _draw(log_q, own, generator)  # (B, K, N), one point each
    itself = chosen.detach() > 0.5
    pioneer = chosen @ points  # (B, K, C)
    with_own = found | one_hot(target, n_clusters)
    seen = Known(every.flatten(2, 3), with_own.repeat_interleave(clusters.shape[2], 2))
    first = network.posterior(points, own, pioneer, seen)
    reading = network.reading(points, known)
    odds = torch.where(itself, log_p - log_q, 0.0).sum(-1)

    def decode(z: Tensor) -> Tensor:
        return network.decode(embedded.unit, reading, z)

    bound = Bound(decode, network.prior(pioneer, known), own, left & ~itself, odds)
    return Lesson(bound, first, exists)


def _log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Over the points of mask (..., N); elsewhere, and in an empty mask, very small or zero."""
    floor = torch.finfo(logits.dtype).min / 4
    return torch.where(mask, logits, floor).log_softmax(-1)


def _draw(log_q: Tensor, mask: Tensor, generator: Generator | None) -> Tensor:
    """One point of each mask, as the Gumbel-softmax has it: exact forward, relaxed backward."""
    uniform = torch.rand(log_q.shape, generator=generator, device=log_q.device, dtype=log_q.dtype)
    gumbel = -(-uniform.clamp_min(1e-20).log()).clamp_min(1e-20).log()
    ticket = torch.where(mask, log_q + gumbel, torch.finfo(log_q.dtype).min / 4)
    soft = (ticket / GUMBEL).softmax(-1)
    hard = torch.zeros_like(soft).scatter(-1, ticket.argmax(-1, keepdim=True), 1.0)
    return hard + soft - soft.detach()
