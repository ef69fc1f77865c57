import numpy as np
import pytest

from coterie.inference.belief import (
    KEPT,
    LEAST_WIDTH,
    MISTAKEN,
    MISTAKEN_WIDTH,
    REPEATS,
    SPREAD_WIDTH,
    draw_parts,
    smear,
)


@pytest.mark.parametrize("answers", [[1], [3, 3, 3], [2, 5, 9], [32, 1]])
def test_the_answers_are_smeared_in_proportion_to_how_far_off_a_number_is(answers):
    most = 40
    close = LEAST_WIDTH + SPREAD_WIDTH * np.std([np.log(k) for k in answers])
    expected = np.zeros(most + 1)
    for share, width in ((1 - MISTAKEN, close), (MISTAKEN, MISTAKEN_WIDTH)):
        for k in answers:
            ratio = [min(j / k, k / j) ** (1 / width) for j in range(1, most + 1)]
            expected[1:] += share * np.array(ratio) / sum(ratio) / len(answers)
    belief = smear(answers, most)
    np.testing.assert_allclose(belief, expected, rtol=1e-10)
    assert belief.sum() == pytest.approx(1)
    assert belief[0] == 0


def test_the_more_the_answers_differ_the_less_is_believed_of_any():
    sure, unsure = smear([4] * 9, 20), smear([3, 4, 5, 4, 4, 6, 3, 4, 5], 20)
    assert sure.argmax() == unsure.argmax() == 4
    assert sure.max() > 0.65
    assert unsure.max() < 0.4


def test_many_clusters_are_never_known_to_the_last_one():
    assert smear([3] * 9, 60)[3] > 0.75
    assert smear([30] * 9, 60)[30] < 0.3


def test_each_part_is_most_of_the_points_in_their_order():
    parts = draw_parts(101)
    assert len(parts) == REPEATS == len({tuple(part) for part in parts})
    for part in parts:
        assert len(part) == round(KEPT * 101)
        assert (np.diff(part) > 0).all()
        assert part.min() >= 0
        assert part.max() < 101


@pytest.mark.parametrize("n_points", [1, 2, 3])
def test_a_few_points_have_parts_too(n_points):
    assert all(len(part) >= 1 for part in draw_parts(n_points))


def test_the_parts_are_the_same_each_time():
    for part, again in zip(draw_parts(50), draw_parts(50), strict=True):
        np.testing.assert_array_equal(part, again)
