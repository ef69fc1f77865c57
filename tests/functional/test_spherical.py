import math

import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch.nn.functional import normalize

from coterie.functional.contrastive import mixture_bound, uniform_gate
from coterie.functional.spherical import (
    max_mahalanobis_centres,
    redirected,
    spherical_kmeans,
    spherical_step,
    sum_by_label,
)


@pytest.mark.parametrize(("n_clusters", "width"), [(2, 1), (3, 2), (10, 128), (10, 9), (129, 128)])
def test_max_mahalanobis_centres_are_as_far_apart_as_can_be(n_clusters, width):
    centres = max_mahalanobis_centres(n_clusters, width)
    products = centres @ centres.T
    expected = torch.full_like(products, -1 / (n_clusters - 1)).fill_diagonal_(1)
    torch.testing.assert_close(products, expected)
    torch.testing.assert_close(centres.sum(0), torch.zeros_like(centres[0]))


@pytest.mark.parametrize(("n_clusters", "width"), [(1, 4), (6, 4)])
def test_more_centres_than_a_simplex_has_corners_are_refused(n_clusters, width):
    with pytest.raises(ValueError, match=rf"{n_clusters} centres cannot .* in {width} dimensions"):
        max_mahalanobis_centres(n_clusters, width)


def bundles(n_each: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors about three directions."""
    generator = torch.Generator().manual_seed(seed)
    axes = torch.eye(3, 5, dtype=torch.float64).repeat_interleave(n_each, 0)
    noise = 0.15 * torch.randn(axes.shape, generator=generator, dtype=torch.float64)
    return normalize(axes + noise, dim=-1), torch.arange(3).repeat_interleave(n_each)


def test_bundles_of_directions_are_found():
    vectors, truth = bundles()
    found = spherical_kmeans(5 * vectors, 3, torch.Generator().manual_seed(1))
    assert adjusted_rand_score(truth, found.labels) == 1
    torch.testing.assert_close(found.centres.norm(dim=1), torch.ones(3, dtype=torch.float64))
    assert found.cosine > 0.9


def test_a_step_never_lowers_the_cosine():
    vectors, _ = bundles()
    centres = normalize(torch.randn(4, 5, dtype=torch.float64), dim=-1)
    cosines = []
    for _ in range(8):
        centres, _, cosine = spherical_step(vectors, centres)
        cosines.append(cosine)
    assert cosines == sorted(cosines)


def test_an_empty_cluster_keeps_its_centre():
    vectors, _ = bundles()
    lonely = normalize(-torch.ones(5, dtype=torch.float64), dim=0)
    centres = torch.stack([vectors[0].abs(), lonely])
    moved = spherical_step(vectors.abs(), centres).centres
    assert torch.equal(moved[1], lonely)
    assert not torch.equal(moved[0], centres[0])
    assert moved.isfinite().all()


def test_theorem_4_the_analytical_update_is_one_iteration_of_spherical_kmeans():
    """Under A1 to A4: hard labels, a constant normaliser, a uniform gate and a shared head."""
    vectors, _ = bundles()
    student = normalize(torch.randn_like(vectors), dim=-1)
    prototypes = normalize(torch.randn(4, 5, dtype=torch.float64), dim=-1)
    experts = (vectors[:, None] * (student[:, None] + prototypes)).sum(-1) - math.log(7.0)
    bound = mixture_bound(uniform_gate(len(vectors), 4, like=experts), experts)
    labels = bound.posterior.argmax(1)
    updated = redirected(prototypes, sum_by_label(vectors, labels, 4))
    step = spherical_step(vectors, prototypes)
    assert torch.equal(labels, step.labels)
    torch.testing.assert_close(updated, step.centres)


def test_the_same_generator_gives_the_same_clusters():
    vectors, _ = bundles()
    first, again = (
        spherical_kmeans(vectors, 4, torch.Generator().manual_seed(3), n_init=2) for _ in range(2)
    )
    assert torch.equal(first.labels, again.labels)
