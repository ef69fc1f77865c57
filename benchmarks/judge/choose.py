"""The judge's verdict: which candidate, how well it will agree with the truth, and how many."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judge.candidates import Candidate
from judge.features import weigh
from judge.store import Judge

Array = NDArray[np.float64]

NEARLY = 0.5  # of the probability of the chosen k: another k of so much is worth a word
# Of the belief in k: so much is for numbers that no candidate has, spread over their logarithm.
ELSEWHERE = 0.05
ELSEWHERE_WIDTH = 0.35


@dataclass(frozen=True)
class Verdict:
    """Which of C candidates is chosen, and why it might be wrong.

    scores (C,): what decides; expected_agreement: the adjusted Rand index with the truth that is to
    be expected of the chosen one; k_probabilities (K + 1,): the belief in each number of clusters,
    zero for none; runner_up: the best candidate of the most probable other k.
    """

    chosen: int
    scores: Array
    expected_agreement: float
    k_probabilities: Array
    runner_up: int | None

    def undecided(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the runner-up's k is nearly as probable as that of the chosen one."""
        if self.runner_up is None:
            return False
        chosen, other = (candidates[each].k for each in (self.chosen, self.runner_up))
        return bool(self.k_probabilities[other] >= NEARLY * self.k_probabilities[chosen])


def judge_candidates(
    judge: Judge,
    units: Array,
    turned: NDArray[np.float32],
    candidates: Sequence[Candidate],
) -> Verdict:
    """The verdict on candidates for standardised columns (n, d) and their axes (n, m).

    The first candidate is the network's own answer.
    """
    evidence = weigh(units, turned, candidates)
    scores = judge.scores(evidence, units.shape[1])
    verdict = verdict_of(scores, evidence.k, judge.temperature)
    return replace(verdict, expected_agreement=judge.calibrated(scores[verdict.chosen]))


def verdict_of(scores: Array, k: NDArray[np.intp], temperature: float) -> Verdict:
    """The verdict that follows from scores (C,) and numbers of clusters (C,)."""
    chosen = int(scores.argmax())
    belief = belief_in_k(scores, k, temperature)
    others = np.flatnonzero(k != k[chosen])
    runner_up = None
    if len(others):
        second = belief[k[others]].max()
        of_second = others[belief[k[others]] == second]
        runner_up = int(of_second[scores[of_second].argmax()])
    return Verdict(chosen, scores, float(scores[chosen]), belief, runner_up)


def belief_in_k(scores: Array, k: NDArray[np.intp], temperature: float) -> Array:
    """The probability of each number of clusters from 0, which has none, to K: (K + 1,).

    In proportion to exp(s / temperature), s the score of the best candidate with that number: so
    the chosen number is the most probable one. A little goes to numbers near by.
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
