"""The answer of a large set, of which several contexts are asked.

Two contexts that agree are enough. Where they differ, an answer is found step by step:

1. whether a mixture of Gaussians describes the rows of all of them: if so, it is the answer;
2. otherwise, where a judge has chosen, on the method: the one of the best mean score. A network or
   a mixture that finds the number of clusters itself is one method, k-means with k clusters is one
   for each k;
3. on the number of clusters: the median of theirs, where a few too many or too few cancel out;
4. on the clusters themselves: those of the answer that agrees best with all others, with borders
   where the mean of all puts them (`inference/consensus.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.inference.answer import Answer
from coterie.inference.assignment import apply
from coterie.inference.consensus import mean_shares, rule_of
from coterie.inference.constraints import Constraints
from coterie.inference.context import Rows, Sample
from coterie.inference.described import described_together
from coterie.inference.endings import with_noise
from coterie.judge.agreement import agreements, members_of

Labels = NDArray[np.intp]
Belief = NDArray[np.float64]

ALIKE = 0.95


class Ask(Protocol):
    """Finds the clusters of a context; mixture: whether one of Gaussians is tried."""

    def __call__(self, sample: Sample, *, mixture: bool = True) -> Answer:
        """The answer for a context."""


class Asked(NamedTuple):
    """The answer of several contexts together, and the mean agreement of their own."""

    answer: Answer
    stability: float | None


def ask_contexts(
    ask: Ask, contexts: Sequence[Sample], constraints: Constraints, *, mixture: bool
) -> Asked:
    """The answer of two contexts if they agree, otherwise of all.

    mixture: whether one of Gaussians is tried in each of them.
    """
    if len(contexts) == 1:
        return Asked(ask(contexts[0]), None)
    compared = np.concatenate([sample.rows for sample in contexts[:2]])
    answers = [ask(sample) for sample in contexts[:2]]
    votes = [each.labels(compared) for each in answers]
    if is_settled(votes):
        # The first, unless only the other one was shown to describe its context.
        return Asked(max(answers, key=lambda each: each.ended.described), mean_agreement(votes))
    rows = np.unique(np.concatenate([sample.rows for sample in contexts]))
    if mixture and (found := described_together(answers, rows, constraints)) is not None:
        return Asked(found, mean_agreement(votes))
    answers = [each.undescribed() for each in answers]
    answers += [ask(sample, mixture=False) for sample in contexts[len(answers) :]]
    votes = [each.labels(compared) for each in answers]
    return Asked(agreed(answers, compared, constraints), mean_agreement(votes))


def agreed(answers: Sequence[Answer], rows: Rows, constraints: Constraints) -> Answer:
    """The answer of several contexts, with borders among some rows (m,) that all have drawn."""
    answers = of_one_method(answers)
    found = [apply(each.ended.rule, each.points[rows]) for each in answers]
    chosen = elect([each.labels for each in found])
    elected = answers[chosen]
    shares = mean_shares([each.probabilities for each in found], chosen)
    ended = elected.ended._replace(
        rule=rule_of(shares, np.asarray(elected.points[rows])), log_likelihood=None, own=False
    )
    verdicts = [each.ended.verdict for each in answers if each.ended.verdict is not None]
    if verdicts:
        belief = pooled([each.k_probabilities for each in verdicts])
        ended = ended.believing(in_favour(belief, len(np.unique(shares.argmax(1)))))
    return elected._replace(ended=with_noise(ended, elected.context, constraints))


def of_one_method(answers: Sequence[Answer]) -> Sequence[Answer]:
    """The contexts' answers by the method of which they together expect most.

    As they are unless a judge has chosen between several in every context.
    """
    options = [each.ended.options for each in answers if each.ended.options is not None]
    if len(options) < len(answers):
        return answers
    scores = [each.scores for each in options]
    name = best_name(scores)
    return [
        each._replace(ended=own.named(name))
        for each, own in zip(answers, options, strict=True)
        if name in own.scores
    ]


def best_name(scores: Sequence[dict[str, float]]) -> str:
    """The name of the best mean score in several contexts; one that is missing counts zero."""
    names = dict.fromkeys(name for each in scores for name in each)  # the first of equals is taken
    return max(names, key=lambda name: sum(each.get(name, 0.0) for each in scores))


def in_favour(belief: Belief, k: int) -> Belief:
    """A belief (K + 1,) in which no number is more probable than k."""
    belief = np.pad(belief, (0, max(0, k + 1 - len(belief))))
    belief[k] = belief.max()
    return belief / belief.sum()


def pooled(beliefs: Sequence[Belief]) -> Belief:
    """The mean of several beliefs in k, each (K + 1,) for a K of its own."""
    longest = max(map(len, beliefs))
    mean: Belief = np.mean([np.pad(each, (0, longest - len(each))) for each in beliefs], axis=0)
    return mean


def is_settled(votes: Sequence[Labels]) -> bool:
    """Whether two answers agree, in their number of clusters too."""
    one, other = map(np.unique, votes)
    return len(one) == len(other) and mean_agreement(votes) >= ALIKE


def elect(votes: Sequence[Labels]) -> int:
    """Which answer is taken, given the labels (m,) of each for some points.

    Of those with the median number of clusters, the smaller one of two, the answer that agrees best
    with all others; the first of equals.
    """
    numbers = np.array([len(np.unique(labels)) for labels in votes])
    usual = np.sort(numbers)[(len(numbers) - 1) // 2]
    support = agreements(*members_of(np.stack(votes))).sum(1)
    return int(np.where(numbers == usual, support, -np.inf).argmax())


def mean_agreement(votes: Sequence[Labels]) -> float:
    """The mean agreement of two answers, given the labels (m,) of each for some points."""
    every = agreements(*members_of(np.stack(votes)))
    return float(every[np.triu_indices(len(votes), 1)].mean())
