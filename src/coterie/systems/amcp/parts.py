"""The values that pass between the parts of AMCP.

Shapes: B sets of N points; A queries, each for one cluster, in parallel: one in a step of the loop,
several in training.
"""

from typing import NamedTuple

from torch import Tensor

from coterie.data.batch import Compaction
from coterie.functional.diffusion import Walks


class Features(NamedTuple):
    """The inputs of a step for each point: its position, and narrow projections of its encoding."""

    points: Tensor  # (B, N, D), with D = 0 if clusters have no density
    score: Tensor  # (B, N, W), for the memberships
    pool: Tensor  # (B, N, W), for the sums over points
    key: Tensor  # (B, N, W), for the proposal
    promise: Tensor  # (B, N, 1), logit of the expected quality of a cluster from this anchor
    near: Tensor | None = None  # (B, N, L), the weight of each landmark for a point
    walks: Walks | None = None


class Belief(NamedTuple):
    """The network's current estimate of a cluster within a step."""

    phi: Tensor  # (B, A, C)
    mean: Tensor  # (B, A, D)
    log_scale: Tensor  # (B, A, D)
    walked: (
        Tensor  # (B, A, L, M), end distributions of walks from its points; empty without landmarks
    )


class Scene(NamedTuple):
    """The inputs of the membership scores."""

    score: Tensor  # (B, 1 or A, N, W)
    points: Tensor  # (B, N, D), with D = 0 if clusters have no density
    near: Tensor | None  # (B, N, L)


class Guess(NamedTuple):
    """An estimate of a cluster, and the membership logits (B, A, N) that follow from it."""

    logits: Tensor
    belief: Belief


class Question(NamedTuple):
    """A query for a cluster: the remaining points, the clusters found so far, and the anchor."""

    remaining: Tensor  # (B, A, N)
    n_points: Tensor  # (B,), in the whole set
    finished: Tensor  # (B, A, C), the sum of the summaries of the clusters found before
    anchor: Tensor  # (B, A, N), the weight of each point as the anchor; unused with a seed


class Encoding(NamedTuple):
    """The points that remained at the last encoding, and its results."""

    left: Compaction
    features: Features
    slots: tuple[Tensor, ...]


class Found(NamedTuple):
    """The next cluster of each set, among M compacted points."""

    claimed: Tensor  # (B, M) bool
    logits: Tensor  # (B, M), -inf for points that are not available
    first: Belief
    last: Belief
    decoder_slots: tuple[Tensor, ...]
    summary: Tensor  # (B, 1, C), on which later clusters are conditioned
