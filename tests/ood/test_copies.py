"""Parts that are copies of the whole: fractals, and an even spread."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import coterie
from coterie.ood.copies import FEWEST_OF_A_PART, likeness
from coterie.ood.size import ALIKE, texture_warnings
from coterie.ood.texture import Texture

CORNERS = {
    "triangle": ((0.0, 0.0), (1.0, 0.0), (0.5, 0.87)),
    "dust": ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)),
}
NO_LIMITS = Texture(np.inf, -np.inf, np.inf)


def fractal(name, scale, rows=500, seed=0):
    """Points (rows, 2) by the chaos game."""
    corners, random = np.array(CORNERS[name]), np.random.default_rng(seed)
    point, found = np.zeros(2), []
    for corner in corners[random.integers(len(corners), size=rows + 30)]:
        point = scale * point + (1 - scale) * corner
        found.append(point)
    return np.array(found[30:])


def ordinary():
    random = np.random.default_rng(0)
    yield make_blobs(500, centers=4, random_state=0)[0]
    yield make_blobs(500, centers=[(0, 0), (9, 0), (5, 7)], random_state=0)[0]
    yield make_moons(500, noise=0.05, random_state=0)[0]
    yield random.normal(size=(500, 2))
    yield random.normal(size=(500, 3)).cumsum(0)


@pytest.mark.parametrize(("name", "scale"), [("triangle", 0.5), ("dust", 1 / 3), ("dust", 0.4)])
def test_parts_of_fractals_are_alike(name, scale):
    found = [likeness(fractal(name, scale, seed=seed)) for seed in range(6)]
    assert np.median(found) > ALIKE


def test_parts_of_ordinary_sets_are_not():
    assert max(likeness(points) for points in ordinary()) < 0.6


def test_parts_that_are_samples_of_the_whole_have_a_likeness_of_about_one():
    square = np.random.default_rng(0).random((500, 2))
    assert likeness(square) == pytest.approx(0.9, abs=0.3)


def test_place_unit_and_order_do_not_matter():
    points = fractal("dust", 1 / 3)
    order = np.random.default_rng(1).permutation(len(points))
    assert likeness(points[order]) == likeness(points)
    assert likeness(4 * points + 8) == pytest.approx(likeness(points), rel=1e-9)
    assert likeness(np.c_[points, np.full(len(points), 3.0)]) == likeness(points)


def test_few_rows_many_columns_and_constants_are_not_judged():
    random = np.random.default_rng(0)
    assert likeness(random.random((3 * FEWEST_OF_A_PART - 1, 2))) is None
    assert likeness(random.random((500, 4))) is None
    assert likeness(np.ones((500, 2))) is None
    assert likeness(np.repeat([[0.0, 0.0], [1.0, 1.0]], 250, axis=0)) is None


def test_a_warning_says_so():
    (warning,) = texture_warnings(fractal("triangle", 0.5), NO_LIMITS)
    assert "parts are copies of the whole" in warning
    assert texture_warnings(next(ordinary()), NO_LIMITS) == ()
    with pytest.warns(UserWarning, match="copies of the whole"):
        coterie.AMCP("amcp-universal-small").fit(fractal("triangle", 0.5))
