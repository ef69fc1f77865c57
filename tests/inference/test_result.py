import numpy as np

from coterie.inference.result import Clustering, Step

PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.7, 0.3]])
FOUND = Clustering(np.array([0, 1, -1, 0]), PROBABILITIES, None, ())


def step(*claimed):
    rows = np.array(claimed)
    return Step(rows, rows, np.ones(len(rows), np.float32))


def test_confidence_is_the_probability_of_the_label():
    assert FOUND.confidence.tolist() == [0.9, 0.8, 0.0, 0.7]
    assert FOUND.n_clusters == 2


def test_a_step_ends_where_most_of_its_points_do():
    assert FOUND.fate(step(0, 3, 1)) == 0
    assert FOUND.fate(step(1, 2)) == 1
    assert FOUND.fate(step(2)) == -1


def test_what_is_printed_is_one_short_line():
    many = Step(np.arange(500), np.arange(2000), np.ones(2000, np.float32))
    assert repr(many) == "Step(500 claimed of 2,000 offered)"
    found = Clustering(np.zeros(2000, int), np.ones((2000, 1)), None, (many,) * 40, ("mind",))
    assert repr(found) == "Clustering(2,000 points, 1 clusters, 40 steps, 1 warnings)"
