"""Instance discrimination by one network, and by a mixture of experts (MiCE, sections 3 to 5).

Embeddings are unit vectors. B images, K clusters, E sets of embeddings: one for each expert, or one
that all of them share (assumption A4); V keys in the queue; D dimensions.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.functional.log_sums import log_sums


class Bound(NamedTuple):
    """The ELBO of each image, (B,), and the posterior of its cluster, (B, K)."""

    elbo: Tensor
    posterior: Tensor


def info_nce(query: Tensor, key: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """MoCo's loss of each image (eq. 2): query (B, D), key (B, D), queue (V, D) -> (B,)."""
    positive = (query * key).sum(-1) / temperature
    negative = log_sums(query[None], queue[None], temperature)[0]
    return torch.logaddexp(negative, positive) - positive


def expert_log_probabilities(
    student: Tensor,
    teacher: Tensor,
    prototypes: Tensor | None,
    queue: Tensor,
    temperature: float,
) -> Tensor:
    """log p(y | x, z) of every expert (eqs. 5, 6 and 9), (B, K).

    student, teacher: (B, E, D); prototypes: (K, D), or None without the class-level term (A5), then
    K is E; queue: (E, V, D). The normaliser is estimated from the queue and the image itself.
    """
    reading = student if prototypes is None else student + prototypes  # f + mu, (B, K, D)
    positive = (teacher * reading).sum(-1) / temperature  # (B, K)
    keys = queue.expand(reading.shape[1], -1, -1)
    negative = log_sums(reading.transpose(0, 1), keys, temperature).T  # (B, K)
    return positive - torch.logaddexp(negative, positive)


def gate_log_probabilities(embedding: Tensor, prototypes: Tensor, temperature: float) -> Tensor:
    """log p(z | x) (eq. 4): embedding (B, D), unit prototypes (K, D) -> (B, K)."""
    return (embedding @ prototypes.T / temperature).log_softmax(1)


def uniform_gate(n_images: int, n_clusters: int, like: Tensor) -> Tensor:
    """log p(z | x) = -log K for every image (assumption A3): (B, K)."""
    return like.new_full((n_images, n_clusters), -math.log(n_clusters))


def mixture_bound(log_gate: Tensor, log_experts: Tensor) -> Bound:
    """The ELBO at its own posterior (eqs. 10 and 11): log_gate (B, K), log_experts (B, K).

    With q = p(z | x, y) the bound is tight: E_q[log p(y | x, z)] - KL(q || p(z | x)) is
    log sum_z p(z | x) p(y | x, z), and so is its gradient, whether or not q is detached.
    """
    joint = log_gate + log_experts
    return Bound(joint.logsumexp(1), joint.softmax(1))


def elbo_at(posterior: Tensor, log_gate: Tensor, log_experts: Tensor) -> Tensor:
    """The ELBO at any posterior, as eq. 11 writes it: all (B, K) -> (B,)."""
    divergence = posterior * (posterior.log() - log_gate)
    return (posterior * log_experts).sum(1) - torch.where(posterior > 0, divergence, 0.0).sum(1)
