import pytest
import torch

from coterie.functional.matching import sureness
from coterie.inference.second_look import DOUBTFUL, confident_clusters
from coterie.systems.protocol import Commit

SURE, DOUBTED = 0.9, 0.55  # memberships of the points that join


def found(*memberships: float) -> Commit:
    """A cluster of one set, of the points whose membership is above one half.

    A membership of zero is that of a point that was assigned before.
    """
    probabilities = torch.tensor([memberships], dtype=torch.float64)
    return Commit(probabilities > 0.5, probabilities.logit(), ())


def of_points(membership: float, n_points: int = 4) -> Commit:
    """A cluster of which the network is as sure as of each of its points."""
    return found(*[membership] * n_points, *[0.0] * n_points)


def test_the_clusters_are_as_sure_as_they_say():
    for membership in (SURE, DOUBTED):
        sure = sureness(of_points(membership).membership_logits)
        torch.testing.assert_close(sure, torch.tensor([membership]).double())
    assert DOUBTED < DOUBTFUL < SURE


@pytest.mark.parametrize(
    ("memberships", "kept"),
    [
        ([SURE, SURE], [0, 1]),
        ([SURE, DOUBTED], [0]),
        ([DOUBTED, SURE], [1]),
        ([DOUBTED, 0.7, DOUBTED, 0.99, 0.62], [1, 3, 4]),
    ],
)
def test_doubtful_clusters_are_dropped_and_the_order_is_kept(memberships, kept):
    assert (
        confident_clusters([of_points(membership) for membership in memberships]).tolist() == kept
    )


@pytest.mark.parametrize(
    ("memberships", "kept"),
    [([DOUBTED], [0]), ([0.52, 0.58, 0.55], [1]), ([0.58, 0.52], [0]), ([0.55, 0.55], [0, 1])],
)
def test_the_surest_stays_even_if_all_are_doubtful(memberships, kept):
    assert (
        confident_clusters([of_points(membership) for membership in memberships]).tolist() == kept
    )


def test_size_does_not_matter():
    many, one = found(*[DOUBTED] * 500, 0.0), found(*[0.0] * 500, SURE)
    assert confident_clusters([many, one]).tolist() == [1]


def test_points_that_nearly_joined_are_doubts_too():
    clear, blurred = found(0.9, 0.9, 0.0, 0.0), found(0.9, 0.9, 0.45, 0.45)
    # Of the points that joined both keep 1.8; the blurred one would draw 0.9 others beside them.
    assert float(sureness(blurred.membership_logits)) == pytest.approx(1.8 / 2.9)
    lost = found(0.9, 0.9, 0.45, 0.45, 0.4)
    assert float(sureness(lost.membership_logits)) == pytest.approx(1.8 / 3.3)
    assert confident_clusters([clear, blurred, lost]).tolist() == [0, 1]


def test_the_answer_is_an_index():
    kept = confident_clusters([of_points(SURE), of_points(DOUBTED), of_points(SURE)])
    assert kept.dtype == torch.int64
    assert torch.tensor([7, 8, 9])[kept].tolist() == [7, 9]


def refusal() -> Commit:
    """A step that would rather have had no point; the loop took the likeliest."""
    probabilities = torch.full((1, 8), 0.1, dtype=torch.float64)
    return Commit(torch.tensor([[True] + [False] * 7]), probabilities.logit(), ())


def test_after_a_step_that_refused_all_points_nothing_counts():
    steps = [of_points(SURE), of_points(DOUBTED), of_points(0.7), refusal(), of_points(0.99)]
    assert confident_clusters(steps).tolist() == [0, 2]


def test_a_network_that_refuses_everything_at_once_is_taken_at_its_surest():
    assert confident_clusters([refusal(), of_points(SURE), of_points(DOUBTED)]).tolist() == [1]
