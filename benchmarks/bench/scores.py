"""Scores of one answer to one set, and their summary over many."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.sets import LabelledSet
from coterie import metrics
from coterie.comparison.methods import Answer

# By name: ari, nmi, acc, k_mae, k_found; where the set is a known mixture of Gaussians also ll,
# ll_minus_oracle, and where the network claims a likelihood, network_ll_minus_oracle; of other sets
# only what the network claims: network_ll, network_ll_minus_oracle where there is an oracle, or, of
# images, ll_per_pixel.
Scores = dict[str, float]
OF_NETWORKS = ("network_ll", "network_ll_minus_oracle")


class Run(NamedTuple):
    """The scores and the time of one method on one set."""

    scores: Scores
    seconds: float


class Estimate(NamedTuple):
    """A mean over sets and its standard error, None for a single set."""

    mean: float
    standard_error: float | None


class Summary(NamedTuple):
    """A method over n_sets sets; seconds are None if timing it is meaningless."""

    name: str
    details: str
    n_sets: int
    metrics: dict[str, Estimate]
    seconds_mean: float | None = None
    seconds_median: float | None = None


def score(given: LabelledSet, answer: Answer) -> Scores:
    """Compare an answer with the truth; ll is of the Gaussians re-estimated from the labels.

    Noise is left out, also in the number of clusters.
    """
    scored = given.labels >= 0
    scores = _partition_scores(given.labels[scored], answer.labels[scored])
    own, oracle = answer.network_log_likelihood, given.oracle
    if oracle is not None and given.gaussian:
        scores["ll"] = metrics.gaussian_log_likelihood(given.points, answer.labels)
        scores["ll_minus_oracle"] = scores["ll"] - oracle.log_likelihood
    elif own is not None:
        pixels = given.points.shape[1] if given.of_pixels else 1
        scores["ll_per_pixel" if given.of_pixels else "network_ll"] = own / pixels
    if oracle is not None and own is not None:
        scores["network_ll_minus_oracle"] = own - oracle.log_likelihood
    return scores


def oracle_summary(sets: Sequence[LabelledSet]) -> Summary | None:
    """The oracle's row: its ll is of the true parameters; None where the sets have no oracle."""
    scores = [
        _partition_scores(given.labels, given.oracle.labels)
        | _true_likelihood(given.oracle.log_likelihood, gaussian=given.gaussian)
        for given in sets
        if given.oracle is not None
    ]
    if not scores:
        return None
    return _summary("oracle", "true parameters, argmax of the posterior", scores)


def _true_likelihood(value: float, *, gaussian: bool) -> Scores:
    """The oracle's likelihood below those of the methods."""
    name, apart = ("ll", "ll_minus_oracle") if gaussian else OF_NETWORKS
    return {name: value, apart: 0.0}


def summarise(name: str, details: str, runs: Sequence[Run]) -> Summary:
    """Means and standard errors of a method's runs, one or more."""
    seconds = [run.seconds for run in runs]
    return _summary(name, details, [run.scores for run in runs])._replace(
        seconds_mean=float(np.mean(seconds)), seconds_median=float(np.median(seconds))
    )


def _summary(name: str, details: str, scores: Sequence[Scores]) -> Summary:
    estimates = {key: estimate([each[key] for each in scores]) for key in scores[0]}
    return Summary(name, details, len(scores), estimates)


def _partition_scores(truth: NDArray[np.intp], labels: NDArray[np.intp]) -> Scores:
    return {
        "ari": metrics.ari(truth, labels),
        "nmi": metrics.nmi(truth, labels),
        "acc": metrics.accuracy(truth, labels),
        "k_mae": float(metrics.k_error(truth, labels)),
        "k_found": float(len(np.unique(labels))),
    }


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    error = None if spread is None else spread / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), error)
