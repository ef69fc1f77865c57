"""The evidence of each number of clusters, for clusters with a density.

From the mixture found, a path leads up by splits and down by removals, until the evidence
(`mixtures/evidence.py`) becomes negligible.

Each cluster may hide one more, and each of these mixtures is a mode of its own. Laplace's
approximation covers one mode, so the evidence of all splits is summed. With the best split alone
the mean probability of the number found was 0.92 while 0.83 of them were correct (mixtures of up to
twelve clusters); with all splits it was 0.84 while 0.81 were.
"""

import math
from collections.abc import Callable

import numpy as np

from coterie.mixtures.consolidate import Range
from coterie.mixtures.em import Array, Mixture
from coterie.mixtures.evidence import Judged, MixturePrior, judge
from coterie.mixtures.removals import cheapest_removal
from coterie.mixtures.splits import best_splits, with_halves

NEGLIGIBLE = 6.0  # nats below the best: the path ends

Step = Callable[[Array, Judged], list[Mixture]]


def evidence_by_k(
    columns: Array, mixture: Mixture, prior: MixturePrior, sizes: Range
) -> dict[int, float]:
    """The log-evidence of each number of components near that of a mixture of points (D, N).

    Empty if the mixture itself has no finite evidence.
    """
    found = judge(columns, mixture, prior)
    if not math.isfinite(found.log_evidence):
        return {}
    evidence = {mixture.n_clusters: found.log_evidence}
    for change, step in ((-1, removed), (1, split)):
        _walk(columns, found, prior, sizes, change, step, evidence)
    return evidence


def removed(columns: Array, judged: Judged) -> list[Mixture]:
    """The mixture after the cheapest removal."""
    return [cheapest_removal(columns, judged.fit).mixture]


def split(columns: Array, judged: Judged) -> list[Mixture]:
    """The mixtures after each possible split."""
    splits = best_splits(columns, judged.fit, judged.prior)
    each = np.arange(len(splits.gain))
    possible = np.flatnonzero(np.isfinite(splits.gain))
    return [with_halves(judged.fit.mixture, splits, each == number) for number in possible]


def _walk(
    columns: Array,
    found: Judged,
    prior: MixturePrior,
    sizes: Range,
    change: int,
    step: Step,
    evidence: dict[int, float],
) -> None:
    """Record the evidence along one direction of the path."""
    k, best = found.fit.mixture.n_clusters, found
    while sizes.at_least <= (k := k + change) <= sizes.at_most:
        modes = [judge(columns, mixture, prior) for mixture in step(columns, best)]
        if not modes:
            break
        total = float(np.logaddexp.reduce([mode.log_evidence for mode in modes]))
        if not math.isfinite(total):
            break
        evidence[k] = total
        if total < max(evidence.values()) - NEGLIGIBLE:
            break
        best = max(modes, key=lambda mode: mode.log_evidence)
