import numpy as np
import pytest

from fractals import (
    FRACTALS,
    OTHERS,
    compare,
    dimensions,
    fractal,
    nested_gaps,
    parts_like_the_whole,
)


@pytest.mark.parametrize("name", FRACTALS)
def test_points_are_drawn_from_the_attractor(name):
    points = fractal(FRACTALS[name], np.random.default_rng(0), rows=300)
    assert len(np.unique(points, axis=0)) > 250
    assert points.min() >= 0
    assert points.max() <= 1


def test_the_middle_of_cantor_dust_is_empty():
    points = fractal(FRACTALS["Cantor dust"], np.random.default_rng(0))
    assert not ((points > 1 / 3) & (points < 2 / 3)).any()


def test_a_line_has_one_dimension_and_a_square_two():
    random = np.random.default_rng(0)
    square = random.random((2_000, 2))
    line = square * [1.0, 0.0]
    assert dimensions(line)[0] == pytest.approx(1, abs=0.15)
    assert dimensions(square)[0] == pytest.approx(2, abs=0.3)


def test_dust_has_parts_within_parts():
    random = np.random.default_rng(0)
    assert nested_gaps(fractal(FRACTALS["Cantor dust"], random)) > 1
    assert nested_gaps(random.random((500, 2))) < 0.5


def test_parts_of_a_fractal_are_copies_of_it():
    maps = {**FRACTALS, **OTHERS}
    for name in ("Sierpinski triangle", "Cantor dust", "pentagons"):
        assert parts_like_the_whole(fractal(maps[name], np.random.default_rng(0))) > 0
    random = np.random.default_rng(0)
    blobs = random.normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [5, 7]], 100, axis=0)
    assert parts_like_the_whole(blobs) < -0.01
    assert parts_like_the_whole(blobs[:40]) == -1


def test_what_is_larger_is_told_apart(capsys):
    compare("it", np.zeros(10), np.ones(4))
    assert "AUC 1.00, 4 of 4 beyond" in capsys.readouterr().out
