"""An ending for sets that vary along more axes than the network reads.

The means of k clusters may need k - 1 axes. Along the leading ones, which belong to the largest
clusters, all others fall together, and no method can tell them apart there. A random mixture of all
axes favours no cluster: it keeps distances up to a factor near one (Johnson, Lindenstrauss 1984).
So the network reads several such mixtures. In each of them other clusters come close by chance:
what it finds is refined by k-means on all axes, and counts only where two mixtures agree on it and
the silhouette on all axes is in its favour.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.frames.standard import StandardColumns, fit_standard
from coterie.functional.em import Gaussians
from coterie.inference.assignment import apply_labels
from coterie.inference.belief import smear
from coterie.inference.constraints import Constraints
from coterie.inference.context import evenly_spaced
from coterie.inference.endings import Context, End, Ended, Ending, answer_of, with_noise
from coterie.inference.proposal import Proposal, propose
from coterie.inference.rules.mixture import MixtureRule
from coterie.judge.agreement import agreements, members_of
from coterie.judge.arms import lloyd, numbered
from coterie.judge.verdict import Verdict
from coterie.judge.views import noise_edge
from coterie.systems.protocol import Sequential

Labels = NDArray[np.integer]
Points = NDArray[np.float64]

MOST_AXES = 64
FEWEST_ROWS = 40
MIXTURES = 3
ALIKE = 0.7  # of the clusters in two mixtures: what only one of them sees is chance
COMPARED_ROWS = 1_000  # between which silhouettes are computed
TINY = 1e-12  # a variance


class AllAxes(NamedTuple):
    """A context along the axes on which it varies more than noise does (m, A), and their frame."""

    points: NDArray[np.float32]
    frame: StandardColumns


class Agreed(NamedTuple):
    """The clusters (m,) of the same points in two mixtures, and how well they agree."""

    labels: tuple[Labels, Labels]
    agreement: float


@dataclass(frozen=True)
class ManyAxesEnding:
    """What a network finds in random mixtures of many axes, or else what another ending says.

    second_look: whether the network may divide each cluster of a mixture alone.
    """

    otherwise: End
    second_look: bool = True

    def __call__(self, proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
        ended = self.otherwise(proposal, context, constraints)
        wide = all_axes(context)
        if wide is None:
            return ended
        points = wide.points.astype(np.float64)
        agreed = agreed_by_two(self._mixtures(points, proposal, context, constraints))
        if agreed is None:
            return ended
        rows = evenly_spaced(len(points), COMPARED_ROWS)
        usual = apply_labels(ended.rule, context.points[rows])
        best = max(agreed.labels, key=lambda own: silhouette(points[rows], own[rows]))
        if silhouette(points[rows], best[rows]) <= silhouette(points[rows], usual):
            return ended
        numbers = [n_clusters(own) for own in (best, *agreed.labels)]
        ended = Ended(
            nearest_mean(points, best, context.rule_device),
            verdict=Verdict(agreed.agreement, smear(numbers, 2 * max(numbers))),
            own=False,
            frame=wide.frame,
        )
        return with_noise(ended, context._replace(points=wide.points), constraints)

    def _mixtures(
        self, points: Points, proposal: Proposal, context: Context, constraints: Constraints
    ) -> Iterator[Labels]:
        """The clusters (m,) in each mixture of points (m, A), refined on all axes.

        Without those that the leading axes have room for, and those of which too many or too few
        are found.
        """
        system = cast(Sequential, proposal.system)
        width = system.traits.columns
        for number in range(MIXTURES):
            mixed = points @ np.random.default_rng(number).normal(size=(points.shape[1], width))
            seen = fit_standard(mixed, width)(mixed)
            whole = context._replace(points=seen, seen=np.arange(len(seen)))
            device = proposal.commits[0].joined.device
            read = propose(
                system,
                SetBatch.single(torch.from_numpy(seen).to(device)),
                Generator(device).manual_seed(0),
                second_look=self.second_look,
            ).proposal
            labels = lloyd(points, numbered(apply_labels(answer_of(read, whole), seen)))
            k = n_clusters(labels)
            least, most = max(width + 1, constraints.at_least), constraints.at_most
            if k >= least and (most is None or k <= most):
                yield labels


def many_axes(ending: Ending, *, second_look: bool) -> Ending:
    """The same ending, which prefers mixtures of many axes where these tell more."""
    return ending._replace(end=ManyAxesEnding(ending.end, second_look))


def all_axes(context: Context) -> AllAxes | None:
    """The axes of a context above noise, None where the network reads all of them."""
    table = context.table
    if table is None or not isinstance(table.frame, StandardColumns):
        return None
    n_columns, known = table.table.shape[1], table.frame.axes.shape[1]
    if n_columns <= known or len(context.rows) < FEWEST_ROWS:
        return None
    units = table.units(context.rows)
    frame = table.frame.widened(units, min(n_columns, MOST_AXES))
    lengths = np.linalg.norm(frame.axes, axis=0)
    turned = (units - frame.middle) @ frame.axes[:, lengths > 0]
    deviation = turned.std(0) / lengths[lengths > 0]
    n_axes = int((deviation**2 > noise_edge(*units.shape)).sum())
    if n_axes <= known:
        return None
    frame = replace(frame, width=n_axes, axes=frame.axes[:, :n_axes])
    return AllAxes(frame(table.table[context.rows]), frame)


def agreed_by_two(mixtures: Iterable[Labels]) -> Agreed | None:
    """The clusters (m,) of the first mixtures that agree, None if no two of them do."""
    found: list[Labels] = []
    for labels in mixtures:
        for other in found:
            alike = float(agreements(*members_of(np.stack([other, labels])))[0, 1])
            if alike >= ALIKE:
                return Agreed((other, labels), alike)
        found.append(labels)
    return None


def silhouette(points: Points, labels: Labels) -> float:
    """The mean silhouette of a partition (m,) of points (m, A), zero where it is one cluster."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return 0.0
    from sklearn.metrics import silhouette_score  # slow, and seldom needed

    return float(silhouette_score(points, labels))


def nearest_mean(points: Points, labels: Labels, device: str) -> MixtureRule:
    """The rule that a point (A,) belongs to the nearest mean of clusters of points (m, A).

    As the posterior of Gaussians that have one variance, and weigh the same.
    """
    members = np.eye(int(labels.max()) + 1)[labels]
    mean = members.T @ points / members.sum(0)[:, None]
    variance = max(TINY, float(((points - mean[labels]) ** 2).mean()))
    scale = np.full_like(mean, np.log(variance) / 2)
    weight = np.full(len(mean), -np.log(len(mean)))
    parts = (torch.from_numpy(part).to(device) for part in (weight, mean, scale))
    return MixtureRule(Gaussians(*parts))


def n_clusters(labels: Labels) -> int:
    """How many clusters labels (m,) 0..k-1 have."""
    return int(labels.max()) + 1
