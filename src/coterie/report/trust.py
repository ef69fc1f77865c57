"""How far to believe a clustering, in plain words."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.report.numerals import percent

SHOWN = 0.005  # smaller probabilities of a number of clusters are not drawn
MAX_BARS = 9
WORDS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True)
class Trust:
    """What a model says of its own result; None for what it does not say.

    k_probabilities: the probability of k clusters at place k (K + 1,); expected_agreement: with the
    true groups, as an adjusted Rand index; stability: the agreement between clusterings of samples
    of the rows; runner_up: the number of clusters that is nearly as probable.
    """

    k_probabilities: NDArray[np.float64] | None = None
    expected_agreement: float | None = None
    stability: float | None = None
    runner_up: int | None = None


def trust_of(model: Any) -> Trust:
    """What a fitted model says of its result, by those of its attributes that exist."""
    belief = getattr(model, "k_probabilities_", None)
    if belief is not None and not _is_open(np.asarray(belief)):
        belief = None  # the number was given
    agreement, stability, other = (
        getattr(model, name, None) for name in ("expected_agreement_", "stability_", "runner_up_")
    )
    return Trust(
        None if belief is None else np.asarray(belief, dtype=np.float64),
        None if agreement is None else float(agreement),
        None if stability is None else float(stability),
        None if other is None else int(other),
    )


class Remark(NamedTuple):
    """A sentence, and the number of clusters that it suggests to ask for."""

    words: str
    n_clusters: int | None = None


def belief_remark(belief: NDArray[np.float64], found: int) -> Remark:
    """The most probable numbers of clusters (K + 1,), and that of the clusters found."""
    order = np.argsort(-belief, kind="stable")
    first, second = int(order[0]), int(order[1])
    words = f"{first} {'cluster' if first == 1 else 'clusters'} is the most probable number"
    words += f" ({percent(belief[first])})"
    if found != first:
        own = belief[found] if found < len(belief) else 0.0
        has = "the one shown here has" if found == 1 else f"the {found} shown here have"
        return Remark(f"{words}, {has} {percent(own)}:", first)
    if belief[second] >= SHOWN:
        words += f", {second} has {percent(belief[second])}"
    return Remark(f"{words}.")


def trust_remarks(trust: Trust, found: int) -> tuple[Remark, ...]:
    """One sentence each on the number of clusters, the agreement, the stability, the runner-up."""
    remarks = []
    if trust.k_probabilities is not None:
        remarks.append(belief_remark(trust.k_probabilities, found))
    if trust.expected_agreement is not None:
        value = f"{trust.expected_agreement:.2f}"
        words = (
            f"Expected agreement with the true groups: {value} (ARI: 1 is perfect, 0 is chance)."
        )
        remarks.append(Remark(words))
    if trust.stability is not None:
        value = f"{trust.stability:.2f}"
        words = f"Stability: {value} (1: samples of the rows give the same clusters)."
        remarks.append(Remark(words))
    if trust.runner_up is not None and trust.runner_up != found:
        be = "is" if trust.runner_up == 1 else "are"
        words = f"{_spelled(trust.runner_up)} {be} nearly as probable:"
        remarks.append(Remark(words, trust.runner_up))
    return tuple(remarks)


def drawn_numbers(belief: NDArray[np.float64], found: int) -> list[int]:
    """The numbers of clusters worth a bar: the probable ones and the one found, in a row."""
    order = [int(k) for k in np.argsort(-belief, kind="stable") if belief[k] >= SHOWN]
    kept = sorted(order[:MAX_BARS]) or [found]
    low, high = min(kept[0], found), max(kept[-1], found)
    if high - low < MAX_BARS:
        return list(range(max(1, low), high + 1))
    return sorted({*order[: MAX_BARS - 1], found})


def _is_open(belief: NDArray[np.float64]) -> bool:
    return bool((belief > 0).sum() > 1)


def _spelled(number: int) -> str:
    """At the beginning of a sentence: Two clusters, 30 clusters."""
    word = WORDS[number - 1] if number <= len(WORDS) else str(number)
    return f"{word} {'cluster' if number == 1 else 'clusters'}"
