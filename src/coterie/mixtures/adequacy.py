"""Whether a mixture of Gaussians describes a set, and its components are clusters.

Many Gaussians can approximate any shape. They are taken for the clusters of a set only if points
drawn from the mixture cannot be told from those of the set, by their nearest neighbours (Schilling
1986) and by their distances from the centres (Kolmogorov and Smirnov), and if every component holds
points that hardly any other claims: those that approximate a ring or heavy tails overlap.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.mixtures.gaussians import Array, FullMixture
from coterie.mixtures.search import MixtureFit

N_NEIGHBOURS = 5
TESTED_POINTS = 1_500
# The share of a point's neighbours that come from its own sample is one half where the samples are
# alike. Too small a share: the mixture follows single points.
ALIKE = (0.45, 0.515)
TOO_DIFFERENT = 0.53  # a search that begins with such a share never ended with samples alike
# Of the distances, times the root of the number of points: the limit for one draw in thirty, and
# what it grows by for each coordinate of a centre per point, because the mixture was fitted to the
# same points.
FARTHEST_APART = 1.4
BY_FITTING = 0.5
LEAST_OWN = 0.9  # the mean probability with which the points of a component belong to it
N_DRAWS = 4


@dataclass(frozen=True)
class Adequacy:
    """How well a mixture describes a set.

    share_of_set, share_of_draws: of the neighbours of points of either sample, those from the same;
    apart: how far the distributions of distances from the own centre are apart, relative to what
    chance explains; least_own: the least mean probability, over the components, of the points that
    fall to it.
    """

    share_of_set: float
    share_of_draws: float
    apart: float
    least_own: float

    @property
    def holds(self) -> bool:
        """Whether the components can be taken for the clusters."""
        low, high = ALIKE
        return (
            low < self.share_of_set < high
            and self.share_of_draws < high
            and self.apart < 1
            and self.least_own >= LEAST_OWN
        )


def adequacy(points: Array, fit: MixtureFit, *, seed: int = 0) -> Adequacy:
    """Compare points (N, D) with draws from the mixture that was fitted to them."""
    generator = np.random.default_rng(seed)
    n_tested = min(len(points), TESTED_POINTS)
    shares, drawn = [], []
    for _ in range(N_DRAWS):
        tested = points[generator.choice(len(points), n_tested, replace=False)]
        drawn.append(draw(fit.mixture, n_tested, generator))
        shares.append(_shares(tested, drawn[-1]))
    of_set, of_draws = np.mean(shares, 0)
    own, other = (_distances(each, fit.mixture) for each in (points, np.concatenate(drawn)))
    apart = farthest_apart(own, other) * math.sqrt(len(points))
    limit = FARTHEST_APART + BY_FITTING * fit.mixture.mean.size / math.sqrt(len(points))
    return Adequacy(float(of_set), float(of_draws), apart / limit, least_own(fit.responsibilities))


def is_too_different(points: Array, mixture: FullMixture, *, seed: int = 0) -> bool:
    """Whether points (N, D) are so unlike draws that fewer components cannot describe them."""
    generator = np.random.default_rng(seed)
    n_tested = min(len(points), TESTED_POINTS)
    tested = points[generator.choice(len(points), n_tested, replace=False)]
    return max(_shares(tested, draw(mixture, n_tested, generator))) > TOO_DIFFERENT


def least_own(responsibilities: Array) -> float:
    """The least mean probability of a component for the points that fall to it: (N, K) -> ()."""
    labels, n_clusters = responsibilities.argmax(1), responsibilities.shape[1]
    mass = np.bincount(labels, responsibilities.max(1), n_clusters)
    return float((mass / np.maximum(np.bincount(labels, minlength=n_clusters), 1)).min())


def draw(mixture: FullMixture, n_points: int, generator: np.random.Generator) -> Array:
    """Points of a mixture: (n_points, D)."""
    weight = np.exp(mixture.log_weight - mixture.log_weight.max())
    component = generator.choice(mixture.n_clusters, n_points, p=weight / weight.sum())
    drawn = generator.standard_normal((n_points, mixture.mean.shape[1]))
    factor = np.linalg.cholesky(mixture.covariance)
    for number in range(mixture.n_clusters):
        own = component == number
        drawn[own] = drawn[own] @ factor[number].T + mixture.mean[number]
    return drawn


def expected_ari(responsibilities: Array, *, seed: int = 0) -> float:
    """The mean agreement of the most probable labels with labels drawn from (N, K)."""
    from sklearn.metrics import adjusted_rand_score  # slow, and needed by a fit alone

    uniform = np.random.default_rng(seed).uniform(size=(N_DRAWS, len(responsibilities), 1))
    drawn = (uniform > responsibilities.cumsum(1)[None, :, :-1]).sum(2)
    labels = responsibilities.argmax(1)
    return float(np.mean([adjusted_rand_score(each, labels) for each in drawn]))


def farthest_apart(one: Array, other: Array) -> float:
    """The largest difference of two empirical distribution functions (Kolmogorov, Smirnov)."""
    every = np.concatenate([one, other])
    below = [
        np.searchsorted(np.sort(each), every, side="right") / len(each) for each in (one, other)
    ]
    return float(np.abs(below[0] - below[1]).max())


def _distances(points: Array, mixture: FullMixture) -> Array:
    """Squared distances of points (n, D) from the centre of their component, in its units: (n,)."""
    whitening = np.linalg.inv(np.linalg.cholesky(mixture.covariance))
    squares = np.stack(
        [
            np.square((points - mean) @ each.T).sum(1)
            for mean, each in zip(mixture.mean, whitening, strict=True)
        ]
    )
    log_det = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(1)
    joint = (mixture.log_weight + log_det)[:, None] - squares / 2
    distances: Array = np.take_along_axis(squares, joint.argmax(0)[None], 0)[0]
    return distances


def _shares(one: NDArray, other: NDArray) -> tuple[float, float]:
    """The mean share of neighbours from the same sample, for each of two samples (n, D)."""
    from sklearn.neighbors import NearestNeighbors  # slow, and needed by a fit alone

    both = np.concatenate([one, other])
    of_other = np.arange(len(both)) >= len(one)
    search = NearestNeighbors(n_neighbors=N_NEIGHBOURS).fit(both)
    near = search.kneighbors(return_distance=False)  # without the points themselves
    same = (of_other[near] == of_other[:, None]).mean(1)
    return float(same[~of_other].mean()), float(same[of_other].mean())
