"""What a candidate is among its companions: how many agree with it, and whether it is the best.

Computed from the features and the agreement of whoever is there, so candidates may be left out.
"""

import numpy as np
from numpy.typing import NDArray

from coterie.judge.features import ARMS, Evidence, feature_names

Table = NDArray[np.float32]

# Qualities of which it matters how far a candidate is from the best one of the set.
COMPARED = (
    "silhouette",
    "neighbours agree",
    "neighbours agree beyond chance",
    "gain of full Gaussians",
    "gain of diagonal Gaussians",
    "gain of tied Gaussians",
    "mixture gain of full Gaussians",
    "mixture gain of diagonal Gaussians",
    "quadratic rule holds",
    "linear rule holds",
    "valley",
    "log Calinski-Harabasz",
)
ALIKE = 0.8  # of agreement: nearly the same partition


def with_relations(evidence: Evidence) -> Table:
    """Features (C, F) and what follows from the agreement of the candidates: (C, F')."""
    names = feature_names()
    features, agreement = evidence.features, evidence.agreement
    others = agreement * (1 - np.eye(len(agreement), dtype=np.float32))
    n_others = max(1, len(agreement) - 1)
    own_k = features[:, names.index("rank")] == 0
    companies = [features[:, names.index("default")] > 0, own_k, ~own_k]
    companies += [features[:, names.index(arm)] > 0 for arm in ARMS]
    found = [others.sum(1) / n_others, (others > ALIKE).sum(1) / n_others]
    # Once with itself, for one that is what a company says, and once without: does another of the
    # company say so too?
    for matrix in (agreement, others):
        for company in companies:
            found += _agreement_with(matrix, company)
    for name in COMPARED:
        value = features[:, names.index(name)]
        found.append(value - value.max())
    log_k = features[:, names.index("log k")]
    found += [log_k - log_k.mean(), np.full(len(log_k), log_k.mean())]
    return np.column_stack([features, *found]).astype(np.float32)


def _agreement_with(agreement: NDArray[np.float32], company: NDArray[np.bool_]) -> list[NDArray]:
    """The largest and the mean agreement (C,) with some of the candidates (C,)."""
    if not company.any():
        return [np.zeros(len(agreement)), np.zeros(len(agreement))]
    part = agreement[:, company]
    return [np.maximum(part.max(1), 0.0), part.mean(1)]
