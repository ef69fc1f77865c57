"""The probability of each number of clusters, computed on request after a fit.

Where a judge has chosen, it is the judge's. Where clusters have a density and the likelihood
decided, it is the evidence of each number. Of a point-wise system it is the share of its draws
with that number. Otherwise, or where the clusters are unlike those that
the evidence knows, the network is run again on parts of the set: where its answers differ, the
number is in doubt. A network that is wrong in the same way each time is not found out, so its
answers are smoothed, some of them widely.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.inference.assignment import apply, apply_labels
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.context import Rows, evenly_spaced
from coterie.inference.engine import Outcome, cluster_points
from coterie.inference.judged import JUDGED_ROWS, expected_agreement, worth_judging
from coterie.inference.samples import shares_of_k
from coterie.judge.store import open_judge
from coterie.mixtures.consolidate import Range, can_be_judged
from coterie.mixtures.em import estimate
from coterie.mixtures.evidence import trained_prior
from coterie.mixtures.evidence_by_k import evidence_by_k
from coterie.systems.protocol import Direct, Sequential

# What repeats are worth, `benchmarks/doubts.py` measures, on other sets than the widths were found
# on. Frames stretched and mirrored at random, proposals drawn at random, and half of the points
# instead of most were tried: no better.
REPEATS = 8
KEPT = 0.8  # of the points, in each repeat
# The widths, in log k, made the true numbers of 48 fresh sets of the universal prior most probable,
# nearly: a little wider, for there are other sets.
LEAST_WIDTH = 0.05  # so far off are answers that are always the same
SPREAD_WIDTH = 0.5  # for each deviation of the answers
# Of the sets: so many are so far from what the network takes them for, whatever it answers. Twice
# what is best on sets like those of training: there the most probable number is then right as often
# as it says, and on mixtures and moons, which are stranger, it says less too much
# (`benchmarks/honesty.py`).
MISTAKEN = 0.2
MISTAKEN_WIDTH = 0.5
FARTHEST = 2  # times the largest answer: nobody believes in more, unless training had more

KProbabilities = NDArray[np.float64]


@dataclass(frozen=True)
class FitRecord:
    """What is kept of a fit, so that its number of clusters can be questioned later.

    columns: how many of the context's hold data; units: the columns (n, d) of some rows of the
    context, `judged_rows`, in the units of a standard frame, where no judge was asked yet.
    """

    system: Sequential | Direct
    outcome: Outcome
    config: InferenceConfig
    columns: int
    units: NDArray[np.float32] | None = None


def judged_rows(n_points: int) -> Rows:
    """Which of the n points of a context a judge looks at."""
    return evenly_spaced(n_points, JUDGED_ROWS)


def agreement_to_expect(fit: FitRecord) -> float | None:
    """The adjusted Rand index with the true clusters that the judge expects, None without one."""
    if fit.outcome.verdict is not None:
        return fit.outcome.verdict.expected_agreement
    if fit.units is None or not worth_judging(fit.units):
        return None
    rows = judged_rows(len(fit.outcome.context))
    labels = apply_labels(fit.outcome.rule, fit.outcome.context[rows])
    width = fit.system.traits.columns
    units = fit.units.astype(np.float64)
    return expected_agreement(open_judge(), units, width, labels, fit.outcome.sure)


def k_probabilities(fit: FitRecord) -> KProbabilities:
    """The probability of k clusters at place k, from 0, which is zero, to K: (K + 1,)."""
    constraints = fit.config.constraints
    if constraints.at_least == constraints.at_most:
        return np.eye(1, constraints.at_least + 1, constraints.at_least)[0]
    if fit.outcome.verdict is not None:
        return _within(_range(fit), fit.outcome.verdict.k_probabilities)
    if fit.outcome.samples is not None:
        return belief_by_samples(fit, fit.outcome.samples)
    belief = belief_by_evidence(fit) if fit.config.ending.proposes else None
    return belief_by_repeats(fit) if belief is None else belief


def belief_by_evidence(fit: FitRecord) -> KProbabilities | None:
    """In proportion to the evidence; None where the prior of the evidence does not fit."""
    rule, context = fit.outcome.rule, fit.outcome.context
    columns = np.ascontiguousarray(context[:, : fit.columns].T, dtype=np.float64)
    memberships = apply(rule, context).probabilities
    mixture = estimate(columns, np.ascontiguousarray(memberships.T))
    scale = fit.system.traits.cluster_scale
    if scale is None:
        return None
    prior = trained_prior(columns, scale)
    if not can_be_judged(mixture, prior):
        return None
    evidence = evidence_by_k(columns, mixture, prior, _range(fit))
    if not evidence:
        return None
    belief = np.zeros(max(evidence) + 1)
    belief[list(evidence)] = np.exp(np.array([*evidence.values()]) - max(evidence.values()))
    return belief / belief.sum()


def belief_by_samples(fit: FitRecord, samples: NDArray[np.intp]) -> KProbabilities:
    """The shares of the draws (S, m) of a point-wise system, or certainty of what was wished."""
    sizes, shares = _range(fit), shares_of_k(samples)
    if not shares[sizes.at_least : sizes.at_most + 1].any():
        stands = fit.outcome.clustering.n_clusters
        return np.eye(1, stands + 1, stands)[0]
    return _within(sizes, shares)


def belief_by_repeats(fit: FitRecord) -> KProbabilities:
    """Smeared over the answers of the network to parts of the context, and the one that stands."""
    sizes = _range(fit)
    answers = [fit.outcome.clustering.n_clusters, *repeated_answers(fit)]
    most = max(FARTHEST * max(answers), fit.system.traits.k_max or 0, sizes.at_least)
    return _within(sizes, smear(answers, int(min(most, sizes.at_most))))


def repeated_answers(fit: FitRecord) -> list[int]:
    """How many clusters the network finds in each of several parts of the context.

    Whatever number was wished for, so that the answers are its own.
    """
    context, constraints = fit.outcome.context, fit.config.constraints
    answers = []
    for rows in draw_parts(len(context)):
        share = len(rows) / len(fit.outcome.clustering.labels)
        smallest = max(1, round(share * constraints.min_cluster_size))
        free = Constraints(min_cluster_size=smallest, noise=constraints.noise)
        outcome = cluster_points(
            fit.system,
            context[rows],
            replace(fit.config, constraints=free),
            np.random.RandomState(0),
            columns=fit.columns,
        )
        answers.append(outcome.clustering.n_clusters)
    return answers


def _range(fit: FitRecord) -> Range:
    """The numbers of clusters that were allowed and that the points can have."""
    constraints, n_points = fit.config.constraints, len(fit.outcome.context)
    at_most = n_points if constraints.at_most is None else min(constraints.at_most, n_points)
    return Range(constraints.at_least, at_most)


def _within(sizes: Range, belief: KProbabilities) -> KProbabilities:
    """The belief in the numbers that are allowed, zero for others."""
    belief = belief[: sizes.at_most + 1].copy()
    belief[: sizes.at_least] = 0.0
    return belief / belief.sum()


def draw_parts(n_points: int) -> list[NDArray[np.intp]]:
    """The points of each repeat, in their order; the same for every set of so many points."""
    size = max(1, round(KEPT * n_points))
    drawn = (np.random.RandomState(number).permutation(n_points) for number in range(REPEATS))
    return [np.sort(rows[:size]) for rows in drawn]


def smear(answers: list[int], most: int) -> NDArray[np.float64]:
    """Probabilities of 0 to most clusters (most + 1,), zero for none, from several answers.

    The smaller part is smeared by MISTAKEN_WIDTH, the larger by LEAST_WIDTH and by SPREAD_WIDTH of
    what the answers differ.
    """
    close = _smeared(answers, most, LEAST_WIDTH + SPREAD_WIDTH * float(np.log(answers).std()))
    far = _smeared(answers, most, MISTAKEN_WIDTH)
    return (1 - MISTAKEN) * close + MISTAKEN * far


def _smeared(answers: list[int], most: int, width: float) -> NDArray[np.float64]:
    """Each answer k gives j in proportion to exp(-|log j - log k| / width): (most + 1,)."""
    log_k = np.log(np.arange(1, most + 1))
    shares = np.exp(-np.abs(log_k - np.log(answers)[:, None]) / width)  # (answers, most)
    return np.concatenate([[0.0], (shares / shares.sum(1, keepdims=True)).mean(0)])
