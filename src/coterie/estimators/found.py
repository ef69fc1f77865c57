"""What a fit finds, and the remarks on it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.estimators.fitted import Fitted
from coterie.frames.encoded_table import TableEncoding
from coterie.inference.belief import FitRecord
from coterie.inference.constraints import Constraints
from coterie.inference.engine import Outcome
from coterie.inference.result import Clustering, Step
from coterie.ood.size import cluster_count_warnings, texture_warnings
from coterie.weights.format import Card

STABLE = 0.7  # mean agreement of samples


class Found(NamedTuple):
    """What a fit finds: the labels of the clustering are those of the rows it was given.

    range: the least and the largest value (d,) of each column of the context.
    """

    fitted: Fitted
    clustering: Clustering
    record: FitRecord
    encoding: TableEncoding | None
    range: tuple[NDArray, NDArray]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        return self.clustering.warnings


def renumbered(step: Step, rows: NDArray[np.intp]) -> Step:
    """A step on a sample, told in the rows (m,) of the table."""
    return replace(step, claimed=rows[step.claimed], offered=rows[step.offered])


def projected(given: int, width: int) -> tuple[str, ...]:
    """A remark on columns that the network cannot read one by one."""
    if given <= width:
        return ()
    return (
        f"the network reads {width} columns, X has {given}: clustering its first {width}"
        " principal components",
    )


def unstable_remark(stability: float | None) -> tuple[str, ...]:
    """A remark where samples of a large table have other clusters."""
    if stability is None or stability >= STABLE:
        return ()
    return (
        f"samples of the rows have different clusters (mean agreement {stability:.2f}, ARI):"
        " the number of clusters depends on the draw",
    )


def strange_remarks(outcome: Outcome, card: Card, constraints: Constraints) -> tuple[str, ...]:
    """Remarks on sets that are out of distribution for a network in the standard frame."""
    if card.texture is None:
        return ()
    lie: tuple[str, ...] = ()
    if not outcome.described:
        lie = texture_warnings(outcome.context[:, : card.traits.columns], card.texture)
    if card.traits.k_max is None:
        return lie
    most = max(card.traits.k_max, constraints.at_least)
    return (*lie, *cluster_count_warnings(outcome.clustering.n_clusters, most))
