import math

import numpy as np
import pytest
import torch
from scipy import stats

from coterie.data.batch import SetBatch
from coterie.data.priors.warped import WarpedGaussians

# With the same seed, a prior without thickness has the bare arcs of the same sets, and one whose
# half-axes are zero has nothing but the places to which the arcs are moved.


def sample(n_sets: int = 300, seed: int = 0, **settings) -> SetBatch:
    return WarpedGaussians(n_max=300, **settings).sample(
        n_sets, torch.Generator().manual_seed(seed)
    )


@pytest.fixture(scope="module")
def batch():
    return sample()


@pytest.fixture(scope="module")
def arcs():
    """Float64 points of the clusters with 80 points or more, around their own centres."""
    bare, shift = sample(thickness=0.0), sample(half_axis_scale=0.0)
    around = (bare.points - shift.points).double().numpy()
    labels = bare.labels.numpy()
    clusters = [around[b, labels[b] == j] for b in range(len(labels)) for j in range(4)]
    return [points for points in clusters if len(points) >= 80]


def quadric(points: np.ndarray) -> tuple[np.ndarray, float]:
    """The symmetric A with x' A x = 1 on the points as nearly as possible, and the worst error."""
    x, y = points.T
    design = np.stack([x * x, 2 * x * y, y * y], 1)
    (xx, xy, yy), *_ = np.linalg.lstsq(design, np.ones(len(points)), rcond=None)
    matrix = np.array([[xx, xy], [xy, yy]])
    return matrix, float(abs(np.einsum("ni,ij,nj->n", points, matrix, points) - 1).max())


def test_points_are_finite_and_padding_is_zero(batch):
    assert batch.points.shape == (300, 300, 2)
    assert batch.points.isfinite().all()
    assert (batch.points[~batch.mask] == 0).all()
    assert torch.equal(batch.labels == -1, ~batch.mask)


def test_the_generator_alone_decides():
    global_state = torch.random.get_rng_state()
    batch, again, other = (sample(20, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), global_state)
    assert torch.equal(batch.points, again.points)
    assert torch.equal(batch.labels, again.labels)
    assert not torch.equal(batch.points, other.points)


def test_shares_have_the_concentration_five():
    batch = sample(4000, k_max=2)
    share = (batch.labels == 0).sum(1) / batch.mask.sum(1)
    two = share[share < 1]
    # Beta(5, 5) has the variance 1 / 44, Beta(1, 1) 1 / 12; the labels' own chance adds a little.
    assert len(two) / 4000 == pytest.approx(0.5, abs=0.03)
    assert two.mean() == pytest.approx(0.5, abs=0.015)
    assert two.var() == pytest.approx(1 / 44, abs=0.004)


@pytest.mark.parametrize(("k_max", "spread"), [(2, 2.0), (4, 4.0), (6, 4.0)])
def test_clusters_are_spread_around_the_origin(k_max, spread):
    place = sample(2000, k_max=k_max, half_axis_scale=0.0).points[:, 0]
    assert place.mean(0).tolist() == pytest.approx([0, 0], abs=0.1 * spread)
    assert place.std(0).tolist() == pytest.approx([spread] * 2, rel=0.06)


def test_bare_arcs_lie_on_ellipses(arcs):
    fits = [quadric(points) for points in arcs]
    assert len(fits) > 200
    assert max(error for _, error in fits) < 1e-3
    assert all(np.linalg.eigvalsh(matrix)[0] > 0 for matrix, _ in fits)


def test_half_axes_have_variance_two(arcs):
    axes = np.concatenate([np.linalg.eigvalsh(quadric(points)[0]) ** -0.5 for points in arcs])
    # Sorted inside a cluster, so look at all of them: half-normal with scale sqrt(2).
    assert stats.kstest(axes, stats.halfnorm(scale=math.sqrt(2)).cdf).pvalue > 0.001


def test_angles_along_the_ellipse_are_normal(arcs):
    widths = []
    for points in arcs:
        values, vectors = np.linalg.eigh(quadric(points)[0])
        circle = points @ vectors * np.sqrt(values) @ [1, 1j]  # the ellipse made round
        widths.append(math.sqrt(-2 * math.log(abs(circle.mean()))))  # E exp(ir) = exp(-s^2 / 2)
    assert np.median(widths) == pytest.approx(0.8 * math.pi * 0.25, rel=0.03)
    # A spread of 0.1 in the widths themselves, the rest is from finite clusters.
    assert np.log(widths).std() == pytest.approx(0.12, abs=0.025)


def test_thickness_is_normal_across_the_arc(batch):
    bare = sample(thickness=0.0)
    offset = (batch.points - bare.points)[batch.mask]
    distance = offset.norm(dim=-1)
    assert stats.kstest(distance, stats.halfnorm(scale=0.1).cdf).statistic < 0.01


def test_thickness_is_along_the_normal(batch):
    bare, shift = sample(thickness=0.0), sample(half_axis_scale=0.0)
    offset = (batch.points - bare.points).double().numpy()
    around = (bare.points - shift.points).double().numpy()
    labels = bare.labels.numpy()
    for b in range(30):
        own = labels[b] == 0
        if own.sum() < 80:
            continue
        gradient = around[b, own] @ quadric(around[b, own])[0]  # of x' A x, hence the normal
        cross = gradient[:, 0] * offset[b, own, 1] - gradient[:, 1] * offset[b, own, 0]
        sine = cross / np.linalg.norm(gradient, axis=1)
        assert abs(sine).max() < 1e-3


def test_ellipses_are_turned_in_every_direction(arcs):
    long_axes = np.array([np.linalg.eigh(quadric(points)[0])[1][:, 0] for points in arcs])
    direction = np.arctan2(long_axes[:, 1], long_axes[:, 0]) % math.pi
    assert stats.kstest(direction, stats.uniform(0, math.pi).cdf).pvalue > 0.001
