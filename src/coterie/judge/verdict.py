"""The judge's verdict: which candidate, how well it will agree with the truth, and how many."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.judge.candidates import Candidate
from coterie.judge.features import weigh
from coterie.judge.store import Judge

Array = NDArray[np.float64]

# Of the belief in k: so much is for numbers that no candidate has, spread over their logarithm.
ELSEWHERE = 0.05
ELSEWHERE_WIDTH = 0.35


@dataclass(frozen=True)
class Verdict:
    """What is to be expected of an answer.

    expected_agreement: the adjusted Rand index with the truth; k_probabilities (K + 1,): the belief
    in each number of clusters, zero for none.
    """

    expected_agreement: float
    k_probabilities: Array


@dataclass(frozen=True)
class Choice(Verdict):
    """Which of C candidates is chosen, and what is to be expected of it; scores (C,) decide."""

    chosen: int
    scores: Array


def judge_candidates(
    judge: Judge,
    units: Array,
    turned: NDArray[np.float32],
    candidates: Sequence[Candidate],
    *,
    chosen: int | None = None,
) -> Choice:
    """The choice among candidates for standardised columns (n, d) and their axes (n, m).

    The first candidate is a network's own answer. chosen: the candidate that stands whatever the
    judge prefers: its number of clusters is then as probable as that of the best one.
    """
    evidence = weigh(units, turned, candidates)
    scores = judge.scores(evidence)
    if chosen is None:
        chosen = int(scores.argmax())
    expected = judge.calibrated(scores[chosen])
    scores[chosen] = scores.max()
    belief = belief_in_k(scores, evidence.k, judge.temperature)
    return Choice(expected, belief, chosen, scores)


def belief_in_k(scores: Array, k: NDArray[np.intp], temperature: float) -> Array:
    """The probability of each number of clusters from 0, which has none, to K: (K + 1,).

    In proportion to exp(s / temperature), s the score of the best candidate with that number: so
    the number of the best candidate is the most probable one. A little goes to numbers near by.
    """
    most = 2 * int(k.max()) + 2
    best = np.full(most + 1, -np.inf)
    np.maximum.at(best, k, scores)
    weight = np.exp((best - best.max()) / temperature)
    weight /= weight.sum()
    number = np.arange(1, most + 1)
    apart = np.abs(np.log(number) - np.log(number)[:, None])
    kernel = np.exp(-apart / ELSEWHERE_WIDTH)
    kernel /= kernel.sum(1, keepdims=True)
    spread = weight[1:] @ kernel
    belief = np.concatenate([[0.0], (1 - ELSEWHERE) * weight[1:] + ELSEWHERE * spread])
    return belief / belief.sum()
