"""How points lie is told in three numbers, and the sets of a prior keep its own limits."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, pdist
from scipy.stats import kurtosis

from coterie.data.batch import SetBatch
from coterie.data.priors.universal import Universal
from coterie.ood.texture import FEWEST_ROWS, texture_limits, texture_of

PRIOR = Universal(n_max=300)


def cloud(seed=0, shape=(400, 3)):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def grid(side=20):
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) / side


def test_the_three_numbers_are_what_they_say():
    points = cloud() * np.float32([1, 2, 0.5])
    distance = cdist(points, points)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.min(1)
    typical = np.sqrt(np.mean(pdist(points) ** 2))
    spacing, evenness, tails = texture_of(points)
    assert spacing == pytest.approx(np.quantile(nearest, 0.25) / typical, rel=0.01)
    assert evenness == pytest.approx(np.log(nearest).std(), rel=0.01)
    assert tails == pytest.approx(kurtosis(points, fisher=False).min(), rel=1e-3)


def test_the_place_and_size_of_the_points_do_not_matter():
    points = cloud()
    assert texture_of(3 * points + 7) == pytest.approx(texture_of(points), rel=0.01)


def test_their_order_does_not_matter():
    points = cloud()
    order = np.random.default_rng(1).permutation(len(points))
    assert texture_of(points[order]) == pytest.approx(texture_of(points), rel=1e-9)


def test_points_that_are_there_twice_are_one_place():
    points = cloud()
    once, twice = texture_of(points), texture_of(np.repeat(points, 2, axis=0))
    assert twice.evenness == pytest.approx(once.evenness)
    assert twice.spacing == pytest.approx(once.spacing)


def test_a_grid_is_even_and_a_column_that_never_varies_has_no_tails():
    flat = np.c_[grid(), np.zeros(400)]
    assert texture_of(flat).evenness == pytest.approx(0, abs=0.01)
    assert texture_of(flat).tails == pytest.approx(kurtosis(grid()[:, 0], fisher=False), rel=1e-3)


@pytest.mark.parametrize("points", [cloud(shape=(FEWEST_ROWS - 1, 2)), np.ones((500, 2))])
def test_a_few_points_or_places_have_no_texture(points):
    assert texture_of(points) is None


def test_nearly_all_sets_of_a_prior_keep_its_limits():
    limits = texture_limits(PRIOR, n_sets=600)
    fresh = PRIOR.sample(600, torch.Generator().manual_seed(77))
    beyond = told = 0
    for points, mask in zip(fresh.points, fresh.mask, strict=True):
        texture = texture_of(points[mask].numpy())
        if texture is None:
            continue
        told += 1
        beyond += (
            texture.spacing > limits.spacing
            or texture.evenness < limits.evenness
            or texture.tails > limits.tails
        )
    assert told > 300
    assert beyond <= 0.04 * told


@dataclass(frozen=True)
class Padded:
    """Even grids of 400 points, each with as many that are only padding."""

    n_points: int = 400

    def sample(self, n_sets, generator):
        points = torch.zeros(n_sets, 800, 2)
        points[:, :400] = torch.from_numpy(grid()).float()
        points[:, 400:] = torch.randn(n_sets, 400, 2, generator=generator)
        return SetBatch(points, (torch.arange(800) < self.n_points).expand(n_sets, -1))


def test_padding_has_no_part_in_the_limits():
    assert texture_limits(Padded(), n_sets=100).evenness == pytest.approx(0, abs=0.01)


def test_sets_that_are_too_small_set_no_limits():
    assert texture_limits(Padded(n_points=50), n_sets=100) is None


def test_the_limits_are_the_same_each_time():
    assert texture_limits(Padded(), n_sets=100) == texture_limits(Padded(), n_sets=100)
