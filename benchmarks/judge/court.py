"""From the rows of a context to the partition that the judge picks.

Candidates come in two rounds: the network's answer to all axes and what the cheap arms make of the
set; then, unless the judge is sure already, a smaller network's answers to the other views.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.systems.protocol import Sequential
from judge.candidates import Candidate, classical, distinct, of_readings
from judge.choose import Verdict, judge_candidates
from judge.readings import Reading, read_sets
from judge.store import Judge
from judge.views import View, make_views

SIDE_VIEWS = ("all", "axes2", "axes4", "axes8", "rank4", "unmixed2")
ALL_VIEWS = (*SIDE_VIEWS, "rank")
SURE = 0.9  # an expected agreement beyond which no further view is asked for


@dataclass(frozen=True)
class Court:
    """Who proposes and who judges.

    main: the network that reads all axes; side: a smaller one that reads the other views, or None.
    """

    main: Sequential
    side: Sequential | None
    judge: Judge
    width: int = 16


@dataclass(frozen=True)
class Judged:
    """The candidates of a set of n rows, the verdict on them, and the rounds it took."""

    candidates: tuple[Candidate, ...]
    verdict: Verdict
    rounds: int

    @property
    def labels(self) -> NDArray[np.int16]:
        """The chosen partition: (n,)."""
        return self.candidates[self.verdict.chosen].labels


def hold(
    court: Court,
    units: NDArray[np.float64],
    *,
    at_least: int = 1,
    at_most: int | None = None,
    sure: float = SURE,
) -> Judged | None:
    """Judge standardised columns (n, d); None where no candidate has a number that is allowed."""
    views = make_views(units, court.width, ALL_VIEWS)
    found = of_readings("net", views[:1], _read(court.main, views[:1], court.width))
    found += classical(views, [found[0].labels])

    def verdict() -> Judged | None:
        allowed = [
            each
            for each in distinct(found)
            if each.k >= at_least and (at_most is None or each.k <= at_most)
        ]
        if not allowed:
            return None
        opinion = judge_candidates(court.judge, units, views[0].points, allowed)
        return Judged(tuple(allowed), opinion, rounds)

    rounds = 1
    first = verdict()
    if court.side is None or (first is not None and first.verdict.expected_agreement >= sure):
        return first
    side = [view for view in views if view.name in SIDE_VIEWS]
    found += of_readings("small", side, _read(court.side, side, court.width))
    rounds = 2
    return verdict()


def _read(network: Sequential, views: Sequence[View], width: int) -> list[Reading]:
    # One at a time: on one thread a batch takes as long as its sets, and padding longer.
    return read_sets(network, [view.padded(width) for view in views], batch_size=1)
