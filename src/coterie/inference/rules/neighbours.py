"""Interpolation of a network's answers from the context to all other points.

A network that compares each point with hundreds of landmarks takes minutes for a million points; a
neighbour search among a thousand takes a second. The answers vary smoothly with the position of a
point, so they are interpolated between the nearest points of the context.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from coterie.inference.rules.protocol import Rule

NEIGHBOURS = 3
LEAF = 32  # points; with the default of 16 a search among 2,000 in 8 columns takes a tenth longer
SAME_PLACE = 1e-30  # a squared distance; at a point of the context its own answer dominates


@dataclass(frozen=True)
class NeighbourRule:
    """The answers of another rule for m points, interpolated by inverse squared distances.

    The neighbour search runs on the CPU, whatever the device of the other rule.
    """

    source: Rule | None  # None where only its answers are left
    places: cKDTree  # of the m points, without the last columns where these are zero
    answers: Tensor  # (m, S), log-probabilities
    clusters: Tensor  # (K,), indices of the selected clusters among the S, in order
    n_empty: int = 0  # the last columns, which the places do not have
    refused: Tensor | None = None  # (m,), the points that the source did not want

    @classmethod
    def of(cls, source: Rule, context: NDArray) -> "NeighbourRule":
        """The rule that interpolates the source's answers for the context (m, D)."""
        answers = source.log_probabilities(torch.from_numpy(context).to(source.device))
        answers = answers.double().cpu()
        n_used = n_used_columns(context)
        places = cKDTree(context[:, :n_used], leafsize=LEAF)
        n_empty = context.shape[1] - n_used
        return cls(source, places, answers, torch.arange(answers.shape[1]), n_empty)

    @property
    def device(self) -> torch.device:
        return self.answers.device

    @property
    def n_clusters(self) -> int:
        return len(self.clusters)

    def log_probabilities(self, points: Tensor) -> Tensor:
        answers = interpolated(self.places, self.answers, points)
        return answers[:, self.clusters].log_softmax(1)

    def unwanted(self, points: Tensor) -> Tensor:
        """Points whose nearest point of the context is unwanted by the source."""
        return self._refused[_nearest(self.places, points, 1)[1][:, 0]]

    def select(self, clusters: Tensor) -> "NeighbourRule":
        source = self._asked()
        return replace(
            self,
            source=source.select(clusters.to(source.device)),
            clusters=self.clusters[clusters.to(self.device)],
        )

    def without_source(self, *, noise: bool) -> "NeighbourRule":
        """The same answers without the network that gave them; its clusters cannot be changed.

        noise: whether `unwanted` will be asked.
        """
        return replace(self, source=None, refused=self._refused if noise else None)

    @cached_property
    def _refused(self) -> Tensor:
        if self.refused is not None:
            return self.refused
        source = self._asked()
        used = np.asarray(self.places.data, dtype=np.float32)
        context = torch.from_numpy(np.pad(used, ((0, 0), (0, self.n_empty))))
        return source.unwanted(context.to(source.device)).cpu()

    def _asked(self) -> Rule:
        if self.source is None:
            raise ValueError("this rule was saved without its network: it can only predict")
        return self.source


def interpolated(places: cKDTree, answers: Tensor, points: Tensor) -> Tensor:
    """Log-probabilities (m, S) at m places, at other points (M, D): (M, S)."""
    distance, index = _nearest(places, points, min(NEIGHBOURS, len(answers)))
    square = torch.from_numpy(distance).square() + SAME_PLACE  # (M, neighbours)
    log_weight = (square[:, :1] / square).log().log_softmax(1)
    return (answers[index] + log_weight[..., None]).logsumexp(1)


def _nearest(
    places: cKDTree, points: Tensor, k: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The distances (M, k) of the nearest places, and which they are (M, k).

    The places are zero in the columns of the points (M, D) that they do not have.
    """
    n_used = places.m
    distance, index = places.query(points[:, :n_used].numpy(), k=[*range(1, k + 1)])
    beyond = points[:, n_used:].double().square().sum(1, keepdim=True).numpy()
    return (np.sqrt(distance**2 + beyond) if beyond.any() else distance), index


def n_used_columns(context: NDArray) -> int:
    """How many of the first columns (m, D) hold all that is not zero; at least one."""
    used = np.flatnonzero(context.any(0))
    return int(used[-1]) + 1 if len(used) else 1
