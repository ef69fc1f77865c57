"""What a system and the ending say of one context of a set."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.frames.protocol import FramedTable
from coterie.inference.assignment import Points, apply_labels
from coterie.inference.config import InferenceConfig
from coterie.inference.context import Rows, evenly_spaced
from coterie.inference.endings import Context, Ended
from coterie.inference.proposal import Proposal, propose
from coterie.systems.protocol import Direct, Sequential


class Answer(NamedTuple):
    """What the system and the ending say of a context; points (n, D): as the rule reads them."""

    points: Points
    context: Context
    proposal: Proposal
    warnings: tuple[str, ...]
    ended: Ended

    def labels(self, rows: Rows) -> NDArray[np.intp]:
        """The labels (m,) of some points."""
        return apply_labels(self.ended.rule, np.asarray(self.points[rows]))

    def undescribed(self) -> "Answer":
        """What is said of the same context without a mixture of Gaussians."""
        if self.ended.instead is None:
            return self
        table = self.context.table
        return self._replace(
            points=self.points if table is None else table, ended=self.ended.instead()
        )


def answer_for(
    system: Sequential | Direct,
    points: Points,
    config: InferenceConfig,
    rows: Rows,
    columns: int | None,
    exact: Sequential | Direct | None,
    generator: Generator,
) -> Answer:
    """What the system and the ending say of the rows (m,) of a context."""
    drawn = np.array(points[rows])  # a copy: torch warns of rows that cannot be written
    # In a canonical order: sums depend on it, and a permuted or weighted set must have the same
    # clusters to the last bit.
    order = np.lexsort(drawn.T)
    rule_device = "cpu" if len(points) <= config.chunk_size else config.device
    seen = evenly_spaced(len(drawn), _n_shown(len(drawn), config))
    table = points if isinstance(points, FramedTable) else None
    context = Context(drawn[order], rows[order], seen, columns, rule_device, table)
    batch = SetBatch.single(torch.from_numpy(context.points[seen]).to(config.device))
    # Where the likelihood decides, it also divides.
    looks = config.second_look and not config.ending.proposes
    proposal, warnings = propose(
        system,
        batch,
        generator,
        second_look=looks,
        n_samples=config.n_samples,
        n_restarts=config.n_restarts,
    )
    ended = config.ending.end(proposal._replace(exact=exact), context, config.constraints)
    if ended.frame is not None and table is not None:
        points = FramedTable(table.table, ended.frame)
    return Answer(points, context, proposal, warnings, ended)


def _n_shown(n_points: int, config: InferenceConfig) -> int:
    """How many of n points the network sees."""
    if not config.ending.proposes or config.n_proposal_points is None:
        return n_points
    return config.n_proposal_points
