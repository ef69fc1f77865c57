"""An ending in which a learned judge chooses among the answers of networks and other methods.

A network that reads sets of few columns as well as any method does not see every table through one
frame. So several networks read a table of many columns, and k-means, mixtures of Gaussians and
spectral cuts propose partitions at several numbers of clusters; the judge predicts how well each
will agree with the true clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.inference.assignment import apply_labels
from coterie.inference.ballot import Ballot
from coterie.inference.constraints import Constraints
from coterie.inference.context import evenly_spaced
from coterie.inference.endings import Context, Ended, answer_of, with_noise
from coterie.inference.proposal import Proposal, propose
from coterie.inference.rules.partition import PartitionRule
from coterie.inference.rules.protocol import Rule
from coterie.judge.agreement import agreements, members_of
from coterie.judge.candidates import GIVEN_KS, VIEWS, Reading, candidates_of
from coterie.judge.store import Judge
from coterie.judge.verdict import judge_candidates
from coterie.judge.views import make_views
from coterie.systems.protocol import Sequential

NARROW = 3  # columns: the network was trained to see what so few show, and most views are one
JUDGED_ROWS = 1_000
FEWEST_ROWS = 40  # with fewer there is nothing to judge by
# Networks that are so sure of several clusters, and agree so well about them, need no judge.
SURE = 0.95
ALIKE = 0.9
MOST_GIVEN = 24  # numbers of clusters of a range that are all tried


class _Read(NamedTuple):
    """The rule that a network's proposal gives, and the proposal."""

    rule: Rule
    proposal: Proposal


@dataclass(frozen=True)
class JudgedEnding:
    """The best of several answers, by a judge.

    readers: the networks that are asked, in the judge's order; None is the one that made the
    proposal. second_look: whether the other networks may divide each cluster alone.
    """

    judge: Judge
    readers: tuple[Sequential | None, ...] = (None,)
    second_look: bool = True

    def __call__(self, proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
        reads = [self._read(reader, proposal, context) for reader in self.readers]
        own = reads[self.readers.index(None)]
        rows = evenly_spaced(len(context.points), JUDGED_ROWS)
        allowed = _allowed(constraints, len(rows))
        table = context.table
        units = context.points[rows] if table is None else table.units(context.rows[rows])
        units = units.astype(np.float64)
        if not allowed or not worth_judging(units):
            return with_noise(Ended(own.rule), context, constraints)
        views = make_views(units, proposal.system.traits.columns, VIEWS)
        readings = [
            Reading(_numbered(apply_labels(read.rule, context.points[rows])), read.proposal.sure)
            for read in reads
        ]
        free = constraints.at_least == 1 and constraints.at_most is None
        found = candidates_of(views, readings, GIVEN_KS if free else allowed)
        kept = [each for each in found if _fits(each.k, constraints)]
        if not kept:
            return with_noise(Ended(own.rule), context, constraints)
        # The first candidate is the first reading, unless its number of clusters is not allowed.
        stands = _is_settled(readings) and _fits(int(readings[0].labels.max()) + 1, constraints)
        verdict = judge_candidates(
            self.judge, units, views[0].points, kept, chosen=0 if stands else None
        )
        labels = kept[verdict.chosen].labels
        for read, reading in zip(reads, readings, strict=True):
            if np.array_equal(_by_appearance(reading.labels), labels):
                ended = Ended(read.rule, verdict=verdict)
                break
        else:
            rule = PartitionRule.of(labels, context.points[rows])
            ended = Ended(rule, verdict=verdict, own=False)
        partitions = [each.labels for each in kept]
        ended = ended._replace(ballot=Ballot.of(context.points[rows], partitions, verdict.scores))
        return with_noise(ended, context, constraints)

    def _read(self, reader: Sequential | None, proposal: Proposal, context: Context) -> _Read:
        if reader is not None:
            device = next(iter(proposal.commits)).joined.device
            points = torch.from_numpy(context.points[context.seen]).to(device)
            generator = Generator(device).manual_seed(0)
            proposal = propose(
                reader, SetBatch.single(points), generator, second_look=self.second_look
            ).proposal
        return _Read(answer_of(proposal, context), proposal)


def worth_judging(units: NDArray) -> bool:
    """Whether columns (n, d) have rows enough, and differences between them, to judge by."""
    return len(units) >= FEWEST_ROWS and bool(np.ptp(units, axis=0).max() > 0)


def expected_agreement(
    judge: Judge, units: NDArray[np.float64], width: int, labels: NDArray[np.intp], sure: float
) -> float:
    """What a judge expects of a network's labels (n,), for standardised columns (n, d)."""
    views = make_views(units, width, VIEWS)
    found = candidates_of(views, [Reading(_numbered(labels), sure)])
    return judge_candidates(judge, units, views[0].points, found, chosen=0).expected_agreement


def _is_settled(readings: Sequence[Reading]) -> bool:
    """Whether the networks are sure of several clusters, the same ones."""
    if readings[0].sure < SURE or not readings[0].labels.any():
        return False
    labels = np.stack([reading.labels for reading in readings])
    return bool(agreements(*members_of(labels))[0].min() >= ALIKE)


def _allowed(constraints: Constraints, n_rows: int) -> Sequence[int]:
    """The numbers of clusters to try where they are limited; none where only one is allowed."""
    most = n_rows // 4 if constraints.at_most is None else constraints.at_most
    numbers = range(max(2, constraints.at_least), min(most, n_rows // 4) + 1)
    return numbers[:MOST_GIVEN]


def _fits(k: int, constraints: Constraints) -> bool:
    return k >= constraints.at_least and (constraints.at_most is None or k <= constraints.at_most)


def _numbered(labels: NDArray[np.intp]) -> NDArray[np.int16]:
    return np.unique(labels, return_inverse=True)[1].astype(np.int16)


def _by_appearance(labels: NDArray[np.int16]) -> NDArray[np.int16]:
    """Labels (n,) 0..k-1, renumbered in the order in which they appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int16)
