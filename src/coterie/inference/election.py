"""Which of several contexts' answers a large set gets.

Of a large set the clusters are found on a context, and another context may show others. So several
contexts are asked, and the answer that agrees best with all others is taken; an answer that was
shown to describe its context comes before one that was not. Two that agree are enough. Where the
contexts differ and each believes in several numbers of clusters, they agree on the number first.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.inference.answer import Answer
from coterie.inference.context import Sample
from coterie.metrics import ari

Labels = NDArray[np.intp]
Belief = NDArray[np.float64]

ALIKE = 0.95


class Asked(NamedTuple):
    """The answer of several contexts together, and the mean agreement of their own."""

    answer: Answer
    stability: float | None


def ask_contexts(ask: Callable[[Sample], Answer], contexts: Sequence[Sample]) -> Asked:
    """Ask for the answers of contexts one by one until two agree, and elect one."""
    if len(contexts) == 1:
        return Asked(ask(contexts[0]), None)
    compared = np.concatenate([sample.rows for sample in contexts[:2]])
    answers: list[Answer] = []
    votes: list[Labels] = []
    for sample in contexts:
        answers.append(ask(sample))
        votes.append(answers[-1].labels(compared))
        if is_settled(votes):
            break
    chosen, stability = elect(votes, [answer.ended.described for answer in answers])
    if not is_settled(votes) and (agreed := with_one_number(answers)):
        answers = agreed
        chosen = elect([each.labels(compared) for each in agreed], [False] * len(agreed)).chosen
    return Asked(answers[chosen], stability)


def with_one_number(answers: Sequence[Answer]) -> list[Answer]:
    """The contexts' answers with the number of clusters that they together believe in most.

    None unless a judge has chosen in every context.
    """
    beliefs, others = [], []
    for each in answers:
        if each.ended.verdict is None or each.ended.with_k is None:
            return []
        beliefs.append(each.ended.verdict.k_probabilities)
        others.append(each.ended.with_k)
    belief = pooled(beliefs)
    ends = [with_k(int(belief.argmax())) for with_k in others]
    return [
        each._replace(ended=end.believing(belief))
        for each, end in zip(answers, ends, strict=True)
        if end is not None
    ]


class Election(NamedTuple):
    """Which answer is taken, and the mean agreement of two of those asked for, None for one."""

    chosen: int
    stability: float | None


def pooled(beliefs: Sequence[Belief]) -> Belief:
    """The mean of several beliefs in k, each (K + 1,) for a K of its own."""
    longest = max(map(len, beliefs))
    mean: Belief = np.mean([np.pad(each, (0, longest - len(each))) for each in beliefs], axis=0)
    return mean


def is_settled(votes: Sequence[Labels]) -> bool:
    """Whether no other answer needs to be asked for: the first two agree, in their number too."""
    if len(votes) != 2:
        return False
    one, other = votes
    return len(np.unique(one)) == len(np.unique(other)) and ari(one, other) >= ALIKE


def elect(votes: Sequence[Labels], proven: Sequence[bool]) -> Election:
    """The answer that agrees best with the others, given the labels (m,) of each for some points.

    proven: which answers were shown to describe their context; the others are passed over if there
    are such. The first of equals is taken.
    """
    if len(votes) < 2:
        return Election(0, None)
    agreement = np.array([[ari(one, other) for other in votes] for one in votes])
    others = ~np.eye(len(votes), dtype=bool)
    stand = np.array(proven) if any(proven) else np.ones(len(votes), dtype=bool)
    support = np.where(stand, agreement[:, stand].sum(1), -np.inf)
    return Election(int(support.argmax()), float(agreement[others].mean()))
