"""The values that pass between the parts of AMCP.

Shapes: B sets of N points; A clusters are asked for at the same time, one in a step of the loop,
several in training.
"""

from typing import NamedTuple

from torch import Tensor

from coterie.data.batch import Compaction
from coterie.functional.diffusion import Walks


class Features(NamedTuple):
    """What a step reads of each point: its place, and narrow maps of its encoding."""

    points: Tensor  # (B, N, D), of no columns where clusters have no density
    score: Tensor  # (B, N, W), for the memberships
    pool: Tensor  # (B, N, W), for the sums over points
    key: Tensor  # (B, N, W), for the proposal
    promise: Tensor  # (B, N, 1), logit of how well a cluster found from this anchor will fit
    near: Tensor | None = None  # (B, N, L), how much a point is at each landmark
    walks: Walks | None = None


class Belief(NamedTuple):
    """A cluster as the network sees it at some moment of a step."""

    phi: Tensor  # (B, A, C)
    mean: Tensor  # (B, A, D)
    log_scale: Tensor  # (B, A, D)
    walked: Tensor  # (B, A, L, M), where walks from its points lead; empty without landmarks


class Scene(NamedTuple):
    """Points as a cluster looks at them."""

    score: Tensor  # (B, 1 or A, N, W)
    points: Tensor  # (B, N, D), of no columns where clusters have no density
    near: Tensor | None  # (B, N, L)


class Guess(NamedTuple):
    """A belief and the memberships (B, A, N) that follow from it."""

    logits: Tensor
    belief: Belief


class Question(NamedTuple):
    """What a cluster is asked for: who is left, who was found, and where to look first."""

    remaining: Tensor  # (B, A, N)
    n_points: Tensor  # (B,), in all
    finished: Tensor  # (B, A, C), the sum of the summaries of the clusters found before
    anchor: Tensor  # (B, A, N), the weight of each point as the anchor; without meaning for a seed


class Encoding(NamedTuple):
    """The points that remained when they were last encoded, and what came of it."""

    left: Compaction
    features: Features
    slots: tuple[Tensor, ...]


class Found(NamedTuple):
    """The next cluster of each set, among the M points that are at hand."""

    claimed: Tensor  # (B, M) bool
    logits: Tensor  # (B, M), -inf for points that are not on offer
    first: Belief
    last: Belief
    decoder_slots: tuple[Tensor, ...]
    summary: Tensor  # (B, 1, C), what it leaves to later clusters
