"""The true density of warped Gaussians, against counting and against its integral."""

import numpy as np
import pytest
import torch

from bench.arcs import consult_arcs, log_density
from coterie.data.priors.warped import Arcs, WarpedGaussians

ARC = [0.7, 0.6, np.array([2.0, -1.2]), 0.4, np.array([0.5, -1.0])]
THICKNESS = 0.1


def drawn(n):
    """Points of the arc by eq. 16, on their own."""
    rng = np.random.default_rng(0)
    middle, spread, (a, b), turn, shift = ARC
    r, e = middle + spread * rng.standard_normal(n), rng.standard_normal(n)
    normal = np.stack([b * np.cos(r), a * np.sin(r)])
    s, t = [a * np.cos(r), b * np.sin(r)] + THICKNESS * e * normal / np.linalg.norm(normal, axis=0)
    cos, sin = np.cos(turn), np.sin(turn)
    return np.stack([cos * s - sin * t, sin * s + cos * t], 1) + shift


def test_the_density_integrates_to_one():
    line = np.linspace(-2.4, 2.4, 121)
    plane = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2) + ARC[4]
    mass = np.exp(log_density(plane, ARC, THICKNESS)).sum() * (line[1] - line[0]) ** 2
    assert mass == pytest.approx(1.0, abs=0.01)


def test_the_density_is_the_share_of_points_in_a_small_square():
    points, side = drawn(400_000), 0.06
    for centre in points[:5]:
        share = (abs(points - centre).max(1) < side / 2).mean()
        inside = centre + side * (np.random.default_rng(1).random((400, 2)) - 0.5)
        density = np.exp(log_density(inside, ARC, THICKNESS)).mean()
        assert share / side**2 == pytest.approx(density, rel=0.15)


def test_the_oracle_knows_arcs_that_lie_apart_and_hides_no_label():
    prior = WarpedGaussians(n_max=200, k_max=3)
    batch, arcs = prior.draw(6, torch.Generator().manual_seed(2))
    right = []
    for number, mask in enumerate(batch.mask):
        own = Arcs(*(part[number] for part in arcs))
        points, labels = batch.points[number][mask].numpy(), batch.labels[number][mask].numpy()
        oracle = consult_arcs(points, own, prior.thickness)
        right.append((oracle.labels == labels).mean())
        assert np.isfinite(oracle.log_likelihood)
    assert np.mean(right) > 0.9
