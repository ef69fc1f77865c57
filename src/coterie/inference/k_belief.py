"""What is believed of the number of clusters, for somebody who asks after the fit.

Where clusters have a density, and the likelihood had its say, it is the evidence of each number.
Else, or where the clusters are not such as the evidence knows, it is what the network answers when
it is asked again about parts of the set.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.inference.assignment import apply
from coterie.inference.consolidate import Range, can_be_judged
from coterie.inference.engine import InferenceConfig, Outcome, cluster_points
from coterie.inference.evidence import trained_prior
from coterie.inference.k_evidence import evidence_by_k
from coterie.inference.k_repeats import draw_parts, smear
from coterie.inference.mixture import estimate
from coterie.inference.second_look import Frame
from coterie.inference.wishes import Wishes
from coterie.systems.protocol import Sequential

FARTHEST = 2  # times the largest answer: nobody believes in more, unless training had more

Belief = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """What is kept of a fit, so that more can be asked.

    system: the network; columns: how many of the context's hold data; lens_for: as in
    `cluster_points`.
    """

    system: Sequential
    outcome: Outcome
    config: InferenceConfig
    columns: int
    lens_for: Callable[[NDArray], Frame] | None


def k_belief(fitted: Fitted) -> Belief:
    """The probability of each number of clusters from 0, which has none, to K: (K + 1,)."""
    wishes = fitted.config.wishes
    if wishes.at_least == wishes.at_most:
        return np.eye(1, wishes.at_least + 1, wishes.at_least)[0]
    has_density = fitted.outcome.clustering.log_likelihood is not None
    belief = belief_by_evidence(fitted) if has_density and fitted.config.consolidate else None
    return belief_by_repeats(fitted) if belief is None else belief


def belief_by_evidence(fitted: Fitted) -> Belief | None:
    """In proportion to the evidence; None where the prior of the evidence does not fit."""
    _, rule, _, context = fitted.outcome
    columns = np.ascontiguousarray(context[:, : fitted.columns].T, dtype=np.float64)
    memberships = apply(rule, context).probabilities
    mixture = estimate(columns, np.ascontiguousarray(memberships.T))
    prior = trained_prior(columns, fitted.system.config.cluster_scale)
    if not can_be_judged(mixture, prior):
        return None
    evidence = evidence_by_k(columns, mixture, prior, _range(fitted))
    if not evidence:
        return None
    belief = np.zeros(max(evidence) + 1)
    belief[list(evidence)] = np.exp(np.array([*evidence.values()]) - max(evidence.values()))
    return belief / belief.sum()


def belief_by_repeats(fitted: Fitted) -> Belief:
    """Smeared over the answers of the network to parts of the context, and the one that stands."""
    sizes = _range(fitted)
    answers = [fitted.outcome.clustering.n_clusters, *repeated_answers(fitted)]
    most = max(FARTHEST * max(answers), fitted.system.config.k_max, sizes.at_least)
    belief = smear(answers, int(min(most, sizes.at_most)))
    belief[: sizes.at_least] = 0.0
    return belief / belief.sum()


def repeated_answers(fitted: Fitted) -> list[int]:
    """How many clusters the network finds in each of several parts of the context.

    Whatever number was wished for, so that the answers are its own.
    """
    context, wishes = fitted.outcome.context, fitted.config.wishes
    answers = []
    for rows in draw_parts(len(context)):
        share = len(rows) / len(fitted.outcome.clustering.labels)
        smallest = max(1, round(share * wishes.min_cluster_size))
        free = Wishes(min_cluster_size=smallest, noise=wishes.noise)
        outcome = cluster_points(
            fitted.system,
            context[rows],
            replace(fitted.config, wishes=free),
            np.random.RandomState(0),
            columns=fitted.columns,
            lens_for=fitted.lens_for,
        )
        answers.append(outcome.clustering.n_clusters)
    return answers


def _range(fitted: Fitted) -> Range:
    """The numbers of clusters that were allowed and that the points can have."""
    wishes, n_points = fitted.config.wishes, len(fitted.outcome.context)
    at_most = n_points if wishes.at_most is None else min(wishes.at_most, n_points)
    return Range(wishes.at_least, at_most)
