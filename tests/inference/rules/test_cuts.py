import numpy as np
import pytest
import torch

from coterie.inference.rules.cuts import best_cut


def normal(n, *, at=(0.0, 0.0), scale=(1.0, 1.0), seed=0):
    return (np.random.default_rng(seed).normal(size=(n, 2)) * scale + at).astype(np.float32)


def cut_of(points, min_size=1):
    return best_cut(torch.tensor(points, dtype=torch.float32), 0, min_size)


def side(cut, points):
    return (cut.log_odds(torch.tensor(points, dtype=torch.float32)) > 0).numpy()


@pytest.mark.parametrize("turn", [0.0, 0.5, 1.2])
def test_two_groups_are_told_apart_whatever_their_direction(turn):
    # Long and parallel: the gap is across the axis of least variance.
    points = normal(200, scale=(5.0, 0.2))
    points[:60, 1] += 3
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    offer = cut_of(points @ rotation)
    assert offer.pays
    far = side(offer.cut, points @ rotation)
    assert set(far[:60]) != set(far[60:])
    assert len(set(far[:60])) == len(set(far[60:])) == 1


def test_the_gain_is_that_of_two_gaussians_along_the_axis():
    points = np.zeros((50, 2), dtype=np.float32)
    points[:, 0] = np.concatenate([np.linspace(-1, 1, 20) - 8, np.linspace(-1, 1, 30) + 8])
    offer = cut_of(points)

    def explained(place, n, imaginary):
        spread = (place.var() * len(place) + imaginary) / (len(place) + bool(imaginary))
        return len(place) * (np.log(len(place) / n) - 0.5 * np.log(spread))

    place = points[:, 0].astype(np.float64)
    parts = sum(explained(part, 50, place.var()) for part in (place[:20], place[20:]))
    assert offer.worth == pytest.approx(parts - explained(place, 50, 0.0), rel=1e-6)


def test_one_gaussian_is_cut_in_its_middle():
    offer = cut_of(normal(500, scale=(3.0, 1.0)))
    assert not offer.pays
    assert abs(offer.cut.axis[1] / offer.cut.axis[0]) < 0.1  # across the longer axis
    assert 200 < side(offer.cut, normal(500, scale=(3.0, 1.0))).sum() < 300


def test_equal_points_have_no_cut():
    assert cut_of(np.ones((9, 2))) is None
    assert cut_of(np.ones((1, 2))) is None


def test_no_part_is_smaller_than_it_may_be():
    points = np.concatenate([normal(40), normal(3, at=(30.0, 0.0))])
    assert side(cut_of(points).cut, points).sum() in (3, 40)
    assert 10 <= side(cut_of(points, 10).cut, points).sum() <= 33
    assert cut_of(points, 22) is None
