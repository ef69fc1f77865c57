"""One set of points in, a clustering and its rule out.

Clusters are found on a context of at most context_size points; the resulting rule labels all
points, chunk by chunk. Sets that fit into the context are used whole. Beside the results nothing
grows with the number of points.

Where the likelihood decides, the network only proposes clusters and sees a part of the context. On
sets of up to 12 Gaussians 128 to 512 points changed the mean ARI by less than 0.0003.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.data.batch import SetBatch
from coterie.encoders.items import EncodedItems
from coterie.encoders.protocol import Encoder
from coterie.frames.images import fit_axes
from coterie.frames.protocol import Frame, FramedTable
from coterie.functional.principal import on_axes
from coterie.inference.assignment import Points, apply, keep_clusters, occupied_by_size
from coterie.inference.constraints import Constraints, apply_constraints
from coterie.inference.context import Rows, Sample, draw_context, evenly_spaced
from coterie.inference.endings import NETWORK_ENDING, Context, Ending
from coterie.inference.proposal import propose
from coterie.inference.result import Clustering
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.wrapped import tempered
from coterie.inference.trace import trace
from coterie.judge.verdict import Verdict
from coterie.systems.protocol import Direct, Sequential


@dataclass(frozen=True)
class InferenceConfig:
    """How to run a system, and what to do with the clusters found.

    ending: how the clusters become a rule; second_look: whether the network may divide each cluster
    when it sees it alone; n_samples: how many draws a point-wise system makes, and n_restarts: how
    often another system that draws at random is run, of which the most probable counts;
    context_size: on how many points clusters are found; n_proposal_points: how many of these the
    network sees where it only proposes, None for all; whole_trace: whether the trace tells of the
    other points too; temperature: of the rule's probabilities; constraints: on the clusters,
    whatever finds them.
    """

    ending: Ending = NETWORK_ENDING
    second_look: bool = False
    n_samples: int = 1
    context_size: int = 10_000
    n_proposal_points: int | None = None
    whole_trace: bool = False
    n_restarts: int = 1
    temperature: float = 1.0
    chunk_size: int = 65_536
    device: str = "cpu"
    constraints: Constraints = field(default_factory=Constraints)


class Outcome(NamedTuple):
    """A clustering, the rule for further points, and whether it labels some of them noise.

    context: the points (m, D) on which the clusters were found; rows: which points of the set they
    are (m,); sure: how sure the system was of its steps; verdict: on the answer, if there is one;
    frame: that of the context and the rule, where it is not the network's; described: whether a
    mixture of Gaussians describes the context; samples: all draws (S, m) of a point-wise system, of
    which the most probable was kept.
    """

    clustering: Clustering
    rule: Rule
    noise: bool
    context: NDArray[np.float32]
    rows: Rows
    sure: float
    verdict: Verdict | None = None
    frame: Frame | None = None
    described: bool = False
    samples: NDArray[np.intp] | None = None


def cluster_points(
    system: Sequential | Direct,
    points: Points,
    config: InferenceConfig,
    random_state: np.random.RandomState,
    *,
    columns: int | None = None,
    exact: Sequential | Direct | None = None,
    sample: Sample | None = None,
) -> Outcome:
    """Cluster the points (n, D) of one set, of which only the first columns hold data.

    Points may be items of any shape where the system has an encoder for them; the rule is then one
    for the encoder's vectors. exact: the system in float64, where the caller has it; otherwise a
    copy is made if need be. sample: the context, where it is not to be drawn uniformly.
    """
    encoder: Encoder | None = getattr(system, "item_encoder", None)
    if encoder is not None and points[:0].ndim > 2:  # not encoded yet
        points = EncodedItems(points, encoder, config.device)
        if n_axes := getattr(system, "n_axes", 0):
            points = _on_axes(points[:], n_axes)
    if sample is None:
        sample = draw_context(len(points), config.context_size, random_state)
    index, counts = sample
    config.constraints.check(len(points) if counts is None else round(counts.sum()))
    drawn = np.array(points[index])  # a copy: torch warns of rows that cannot be written
    # In a canonical order: sums depend on it, and a permuted or weighted set must have the same
    # clusters to the last bit.
    order = np.lexsort(drawn.T)
    rule_device = "cpu" if len(points) <= config.chunk_size else config.device
    seen = evenly_spaced(len(drawn), _n_shown(len(drawn), config))
    table = points if isinstance(points, FramedTable) else None
    context = Context(drawn[order], index[order], seen, columns, rule_device, table)
    batch = SetBatch.single(torch.from_numpy(context.points[seen]).to(config.device))
    generator = Generator(config.device).manual_seed(random_state.randint(2**31 - 1))
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
    steps = trace(proposal, context, whole=config.whole_trace)
    if ended.frame is not None and table is not None:
        points = FramedTable(table.table, ended.frame)
        context = context._replace(points=points[context.rows])

    rule, noise, unsatisfied = apply_constraints(
        ended.rule,
        points,
        context.points,
        config.constraints,
        counts=counts,
        chunk_size=config.chunk_size,
    )
    rule = tempered(rule, config.temperature if ended.own else 1.0)
    found = apply(rule, points, config.chunk_size, noise=noise)
    by_size = occupied_by_size(found, counts)
    found = keep_clusters(found, by_size, config.chunk_size)
    clustering = Clustering(
        labels=found.labels,
        probabilities=found.probabilities,
        log_likelihood=ended.log_likelihood,
        steps=steps,
        warnings=(*warnings, *unsatisfied),
        context_size=len(np.unique(index)),
    )
    rule = rule.select(torch.from_numpy(by_size).to(rule.device))
    draws = None if proposal.samples is None else proposal.samples.labels.cpu().numpy()
    return Outcome(
        *(clustering, rule, noise, context.points, context.rows, proposal.sure),
        verdict=ended.verdict,
        frame=ended.frame,
        described=ended.described,
        samples=draws,
    )


def _on_axes(vectors: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
    """Vectors (n, C) of images on their principal axes: (n, n_axes)."""
    axes = torch.from_numpy(fit_axes(vectors, n_axes))
    return on_axes(torch.from_numpy(vectors), axes).numpy()


def _n_shown(n_points: int, config: InferenceConfig) -> int:
    """How many of n points the network sees."""
    if not config.ending.proposes or config.n_proposal_points is None:
        return n_points
    return config.n_proposal_points
