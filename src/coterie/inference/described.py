"""An ending in which a mixture of Gaussians decides where it describes the set.

Networks divide a set where they see gaps. Where clusters overlap there are none, but if the
clusters are Gaussians, their likelihood tells them apart. The network's clusters are the start of a
search for such a mixture and for the number of its components; its answer counts only if draws from
it cannot be told from the set (`mixtures/adequacy.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.frames.protocol import FramedTable
from coterie.frames.standard import StandardColumns
from coterie.inference.answer import Answer
from coterie.inference.constraints import Constraints
from coterie.inference.context import Rows, evenly_spaced
from coterie.inference.endings import Context, End, Ended, Ending, with_noise
from coterie.inference.judged import NARROW
from coterie.inference.proposal import Proposal
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.judge.verdict import Verdict
from coterie.mixtures.adequacy import describes, expected_ari, is_too_different
from coterie.mixtures.evenness import gain_of_evenness
from coterie.mixtures.search import MOST_CLUSTERS, MixtureFit, fit_mixture

MOST_COLUMNS = 64
MOST_ROWS = 2_000
MOST_TOGETHER = 6_000  # of several contexts: this takes no longer than a search in three of them
FEWEST_ROWS = 100  # fewer tell too little of the shape of clusters
ROWS_PER_COLUMN = 8  # of each cluster: with fewer its covariance says nothing
# In nats: what each cluster more than the network's must add to the evidence of narrow sets. Of 121
# fresh ones of the universal prior in two or three columns, 14 mixtures had less, and 13 of these
# agreed less with the truth than the network: 0.018 ± 0.006 of the mean ARI.
DECISIVE = 10.0


class _Widened(NamedTuple):
    """The context with all its columns (m, D), and the frame of these, if it is another."""

    points: NDArray[np.float32]
    frame: StandardColumns | None = None


@dataclass(frozen=True)
class DescribedEnding:
    """The mixture of Gaussians that describes a set, or else what another ending says."""

    otherwise: End

    def __call__(self, proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
        points, frame = _all_columns(context)
        fit = described_by(points, _labels(proposal, context), constraints)
        if fit is None:
            return self.otherwise(proposal, context, constraints)
        ended = _ended(fit, context)._replace(
            frame=frame, instead=partial(self.otherwise, proposal, context, constraints)
        )
        return with_noise(ended, context._replace(points=points), constraints)


def described_by(
    points: NDArray[np.float32],
    labels: NDArray[np.integer],
    constraints: Constraints,
    *,
    most_rows: int = MOST_ROWS,
) -> MixtureFit | None:
    """The mixture that describes points (m, D), None where none does.

    labels (m,): where the search starts, -1 for points that belong nowhere; most_rows: on how many
    points it is found. It has to describe MOST_ROWS of them: the more there are, the less is a
    Gaussian to the eyes of a test.
    """
    rows = evenly_spaced(len(points), most_rows)
    varies = np.ptp(points[rows], axis=0) > 0
    width = int(varies.sum())
    if len(rows) < FEWEST_ROWS or not width or not varies[:width].all():
        return None
    start = labels[rows]
    n_found = len(np.unique(start[start >= 0]))
    # Where the clusters are Gaussians, the network finds about half of them or more.
    most = min(2 * n_found + 2, max(MOST_CLUSTERS, n_found + n_found // 4))
    most = min(most, len(rows) // (ROWS_PER_COLUMN * width))
    if constraints.at_most is not None:
        most = min(most, constraints.at_most)
    if most < max(1, constraints.at_least):
        return None
    told = points[rows, :width].astype(np.float64)
    try:
        fit = fit_mixture(
            told,
            start,
            at_least=constraints.at_least,
            at_most=most,
            is_futile=is_too_different,
        )
    except ValueError:  # equal rows: not so many components as are asked for
        return None
    occupied = len(np.unique(fit.labels)) == fit.n_clusters
    if not occupied or (width <= NARROW and not is_decisive(fit, told, start)):
        return None
    tested = evenly_spaced(len(told), MOST_ROWS)
    part = replace(fit, responsibilities=fit.responsibilities[tested])
    return fit if describes(told[tested], part) else None


def is_decisive(fit: MixtureFit, points: NDArray[np.float64], start: NDArray[np.integer]) -> bool:
    """Whether the evidence is clearly for the mixture, should it have more clusters than found.

    points (m, D); start (m,): the clusters found, -1 for none. Where components divide one of them,
    they must be better than to take it for evenly spread, as a bar or a band is.
    """
    n_found = len(np.unique(start[start >= 0]))
    more = fit.n_clusters - n_found
    if more <= 0:
        return True
    gain = fit.log_evidence[fit.n_clusters] - fit.log_evidence.get(n_found, -np.inf)
    return gain >= max(more * DECISIVE, gain_of_evenness(points, start, fit.labels))


def described_together(
    answers: Sequence[Answer], rows: Rows, constraints: Constraints
) -> Answer | None:
    """The mixture that describes many rows (m,) of a set of which contexts were asked, or None.

    The search starts from what one of them says, if possible from a mixture. More rows than those
    of a context tell more of the number of clusters, and of where each of them is.
    """
    start = max(answers, key=lambda each: each.ended.described)
    table = start.context.table
    framed = start.points if table is None else table
    context = start.context._replace(points=np.asarray(framed[rows]), rows=rows)
    points, frame = _all_columns(context)
    fit = described_by(points, start.labels(rows), constraints, most_rows=MOST_TOGETHER)
    if fit is None:
        return None
    if table is not None and frame is not None:
        framed = FramedTable(table.table, frame)
    ended = _ended(fit, context)._replace(frame=frame)
    ended = with_noise(ended, context._replace(points=points), constraints)
    return start._replace(points=framed, ended=ended)


def _ended(fit: MixtureFit, context: Context) -> Ended:
    return Ended(
        FullMixtureRule.of(fit.mixture, context.rule_device),
        fit.log_likelihood / len(fit.responsibilities),
        Verdict(expected_ari(fit.responsibilities), fit.k_probabilities()),
        own=False,
        described=True,
    )


def described(ending: Ending) -> Ending:
    """The same ending, after a mixture of Gaussians has been tried."""
    return ending._replace(end=DescribedEnding(ending.end), otherwise=ending.end)


def _labels(proposal: Proposal, context: Context) -> NDArray[np.integer]:
    labels = np.full(len(context.points), -1)
    labels[context.seen] = proposal.partition().labels
    return labels


def _all_columns(context: Context) -> _Widened:
    """The columns that the network does not read are axes beside those that it does."""
    table = context.table
    if table is None or not isinstance(table.frame, StandardColumns):
        return _Widened(context.points)
    width = min(table.table.shape[1], MOST_COLUMNS)
    if width <= table.frame.width:
        return _Widened(context.points)
    units = table.units(context.rows)
    frame = table.frame.widened(units, width)
    return _Widened(frame(table.table[context.rows]), frame)
