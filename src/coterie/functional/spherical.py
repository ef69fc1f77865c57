"""Directions: spherical k-means, its one step as MiCE takes it, and centres far from each other."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize


class Directions(NamedTuple):
    """A spherical clustering: unit centres (K, D), labels (N,), the mean cosine to the centres."""

    centres: Tensor
    labels: Tensor
    cosine: float


def max_mahalanobis_centres(n_clusters: int, width: int) -> Tensor:
    """Unit vectors with inner products of -1 / (K - 1), the least there are (Algorithm 2): (K, D).

    In float64 on the CPU, so that rounding does not pile up; K is at most D + 1.
    """
    if not 2 <= n_clusters <= width + 1:
        raise ValueError(
            f"{n_clusters} centres cannot all be equally far apart in {width} dimensions;"
            f" from 2 to {width + 1} can"
        )
    centres = torch.zeros(n_clusters, width, dtype=torch.float64)
    centres[0, 0] = 1.0
    for i in range(1, n_clusters):
        for j in range(i):
            overlap = 1 / (n_clusters - 1) + centres[i] @ centres[j]
            centres[i, j] = -overlap / centres[j, j]
        if i < width:  # the last of D + 1 centres has its unit length already
            centres[i, i] = (1 - centres[i].square().sum()).clamp_min(0).sqrt()
    return centres


def sum_by_label(vectors: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """The sums of the vectors of each cluster: vectors (N, D), labels (N,) -> (K, D)."""
    sums = vectors.new_zeros(n_clusters, vectors.shape[-1])
    return sums.index_add(0, labels, vectors)


def redirected(centres: Tensor, sums: Tensor) -> Tensor:
    """Unit centres along sums (MiCE, eq. 13), (K, D); where nothing was summed the old one stays.

    The paper leaves an empty cluster open; a zero vector in its place would never win again.
    """
    length = sums.norm(dim=-1, keepdim=True)
    return torch.where(length > 0, sums / length.clamp_min(1e-12), centres)


def spherical_step(vectors: Tensor, centres: Tensor) -> Directions:
    """One iteration on unit vectors (N, D): join the nearest of (K, D) centres, then move these."""
    cosines, labels = (vectors @ centres.T).max(1)
    moved = redirected(centres, sum_by_label(vectors, labels, len(centres)))
    return Directions(moved, labels, float(cosines.mean()))


def spherical_kmeans(
    vectors: Tensor,
    n_clusters: int,
    generator: Generator,
    *,
    n_init: int = 10,
    max_iter: int = 50,
) -> Directions:
    """The best of n_init runs from k-means++ seeds (Dhillon and Modha 2001): vectors (N, D).

    The generator is on the vectors' device. Scikit-learn has no spherical k-means; its Euclidean
    one on unit vectors moves centres inside the sphere and weighs loose clusters otherwise.
    """
    unit = normalize(vectors, dim=-1)
    runs = [_run(unit, n_clusters, generator, max_iter) for _ in range(n_init)]
    return max(runs, key=lambda run: run.cosine)


def _run(unit: Tensor, n_clusters: int, generator: Generator, max_iter: int) -> Directions:
    found = spherical_step(unit, _seeds(unit, n_clusters, generator))
    for _ in range(max_iter):
        before, found = found, spherical_step(unit, found.centres)
        if torch.equal(before.labels, found.labels):
            break
    return found


def _seeds(unit: Tensor, n_clusters: int, generator: Generator) -> Tensor:
    """Each seed is drawn in proportion to how far it is from those before, 1 - cosine."""
    chosen = torch.randint(len(unit), (1,), generator=generator, device=unit.device)
    far = torch.full_like(unit[:, 0], torch.inf)
    for _ in range(n_clusters - 1):
        far = torch.minimum(far, (1 - unit @ unit[chosen[-1]]).clamp_min(1e-9))
        chosen = torch.cat([chosen, torch.multinomial(far, 1, generator=generator)])
    return unit[chosen]
