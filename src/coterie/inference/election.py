"""The answer of a large set, of which several contexts are asked.

Two contexts that agree are enough. Where they differ, an answer is found step by step:

1. whether a mixture of Gaussians describes the rows of all of them: if so, it is the answer;
2. otherwise, where a judge chose each of them, the clusters in which the judges of all contexts
   believe most (`inference/ballot.py`);
3. otherwise, the clusters that most of the answers have (`inference/consensus.py`). Clusters that a
   few contexts divide or join by chance cancel out.

Borders are where the mean of all contexts puts them.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.inference.answer import Answer
from coterie.inference.assignment import Assignment, apply
from coterie.inference.ballot import Ballot, elected
from coterie.inference.consensus import joint_clusters, mean_shares, rule_of
from coterie.inference.constraints import Constraints
from coterie.inference.context import Rows, Sample
from coterie.inference.described import described_together
from coterie.inference.endings import with_noise
from coterie.judge.agreement import agreements, members_of
from coterie.judge.verdict import Verdict

Labels = NDArray[np.intp]
Belief = NDArray[np.float64]

ALIKE = 0.95


class Ask(Protocol):
    """Finds the clusters of contexts; mixture: whether one of Gaussians is tried."""

    def __call__(self, contexts: Sequence[Sample], *, mixture: bool = True) -> list[Answer]:
        """The answer for each context."""


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
        return Asked(ask(contexts)[0], None)
    compared = np.concatenate([sample.rows for sample in contexts[:2]])
    answers = ask(contexts[:2])
    votes = [each.labels(compared) for each in answers]
    if is_settled(votes):
        # The first, unless only the other one was shown to describe its context.
        return Asked(max(answers, key=lambda each: each.ended.described), mean_agreement(votes))
    rows = np.unique(np.concatenate([sample.rows for sample in contexts]))
    if mixture and (found := described_together(answers, rows, constraints)) is not None:
        return Asked(found, mean_agreement(votes))
    answers = [each.undescribed() for each in answers]
    answers += ask(contexts[len(answers) :], mixture=False)
    votes = [each.labels(compared) for each in answers]
    return Asked(agreed(answers, compared, constraints), mean_agreement(votes))


def agreed(answers: Sequence[Answer], rows: Rows, constraints: Constraints) -> Answer:
    """The answer of several contexts together, found among some rows (m,) that all label."""
    ballots = [each.ended.ballot for each in answers if each.ended.ballot is not None]
    joint = (
        by_judges(answers, ballots, rows)
        if len(ballots) == len(answers)
        else by_vote(answers, rows, constraints)
    )
    own = np.eye(int(joint.labels.max()) + 1)[joint.labels]
    shares = mean_shares([each.probabilities for each in joint.found], own)
    nearest = answers[most_like([each.labels for each in joint.found], joint.labels)]
    ended = nearest.ended._replace(
        rule=rule_of(shares, np.asarray(nearest.points[rows])), log_likelihood=None, own=False
    )
    verdicts = [each.ended.verdict for each in answers if each.ended.verdict is not None]
    if verdicts:
        belief = pooled([each.k_probabilities for each in verdicts])
        expected = fmean(each.expected_agreement for each in verdicts)
        k = len(np.unique(shares.argmax(1)))
        ended = ended._replace(verdict=Verdict(expected, in_favour(belief, k)))
    return nearest._replace(ended=with_noise(ended, nearest.context, constraints))


class Joint(NamedTuple):
    """The clusters (m,) of all contexts together, and what each of them says of the same rows."""

    labels: Labels
    found: list[Assignment]


def by_vote(answers: Sequence[Answer], rows: Rows, constraints: Constraints) -> Joint:
    """The clusters of some rows (m,) that most of the answers have."""
    found = [apply(each.ended.rule, each.points[rows]) for each in answers]
    votes = [each.labels for each in found]
    return Joint(joint_clusters(votes, constraints.at_least, constraints.at_most), found)


def by_judges(answers: Sequence[Answer], ballots: Sequence[Ballot], rows: Rows) -> Joint:
    """The clusters of some rows (m,) in which the judges of all contexts believe most."""
    draft = elected(ballots)
    points = answers[draft.context].points[rows]
    labels = ballots[draft.context].told(points)[draft.number]
    found = [
        apply(each.rule(number), points)
        for each, number in zip(ballots, draft.nearest, strict=True)
    ]
    return Joint(np.unique(labels, return_inverse=True)[1], found)


def most_like(votes: Sequence[Labels], labels: Labels) -> int:
    """Which answer's labels (m,) agree best with others (m,); the first of equals."""
    return int(agreements(*members_of(np.stack([labels, *votes])))[0, 1:].argmax())


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


def mean_agreement(votes: Sequence[Labels]) -> float:
    """The mean agreement of two answers, given the labels (m,) of each for some points."""
    every = agreements(*members_of(np.stack(votes)))
    return float(every[np.triu_indices(len(votes), 1)].mean())
