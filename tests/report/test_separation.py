import numpy as np
import pytest

from coterie.report.separation import best_pair, drawn_sample, explained, separation


def test_clusters_apart_have_one_and_mixed_ones_chance():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    places = generator.normal(size=(600, 2))
    assert separation(places, labels) == pytest.approx(0.5, abs=0.06)
    assert separation(places + 20 * labels[:, None], labels) == 1


def test_it_depends_on_the_picture_not_on_the_units():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    places = generator.normal(size=(300, 2)) + 2 * labels[:, None]
    scores = [separation(places * units, labels) for units in ([1, 1], [1e6, 1e-6])]
    assert scores[0] == pytest.approx(scores[1])


def test_points_on_top_of_each_other_are_not_told_apart():
    places = np.zeros((200, 2))
    places[-1] = 1.0
    assert separation(places, np.arange(200) // 100) < 0.7


def test_small_clusters_count_as_much_as_large_ones():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], [980, 20])
    assert separation(generator.normal(size=(1000, 2)), labels) < 0.6


def test_noise_and_single_clusters_have_nothing_to_separate():
    places = np.random.default_rng(0).normal(size=(50, 2))
    assert separation(places, np.zeros(50, dtype=int)) == 0
    assert separation(places, np.full(50, -1)) == 0
    labels = np.where(places[:, 0] > 0, 1, 0)
    noisy = separation(np.concatenate([places, places]), np.append(labels, np.full(50, -1)))
    assert noisy == pytest.approx(separation(places, labels), abs=0.1)


def test_the_best_pair_is_found_among_many_and_stripes_are_not_drawn():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 100)
    points = generator.normal(size=(400, 30))
    points[:, 11] += 8 * (labels % 2)
    points[:, 23] += 8 * (labels // 2)
    points[:, 5] = labels  # tells all, but as four stripes
    pair = best_pair(points, labels)
    assert (pair.x, pair.y) == (11, 23)
    assert pair.score == pytest.approx(1, abs=0.01)
    assert best_pair(points[:, 5:7], labels) is None


def test_explained_is_the_share_between_clusters():
    labels = np.repeat([0, 1], 50)
    points = np.column_stack([labels * 9.0 + np.linspace(0, 1, 100), np.tile([0.0, 1.0], 50)])
    alone, nothing = explained(points, labels)
    assert alone > 0.7
    assert nothing < 0.05


def test_pictures_of_many_points_are_compared_on_a_sample():
    assert len(drawn_sample(10)) == 10
    assert len(np.unique(drawn_sample(100_000))) == 1_200
