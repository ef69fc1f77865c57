import fakes
import numpy as np
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference import samples
from coterie.inference.loop import find_clusters
from coterie.inference.samples import (
    co_assignment,
    draw_samples,
    in_words,
    most_probable,
    require_pairs,
    require_time,
    shares_of_k,
)
from coterie.systems.ncp.config import NCPConfig
from coterie.systems.ncp.prefixes import prefixes
from coterie.systems.ncp.steps import NCP
from coterie.systems.protocol import PointWise, claimed_labels
from coterie.systems.registry import build


@pytest.fixture(scope="module")
def doubtful() -> NCP:
    """An untrained network whose seats are far from certain."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = NCP(NCPConfig(width=16, layers=2, point_width=8, cluster_width=12))
    return system.double().requires_grad_(False)


def one_set(n_points: int = 8) -> SetBatch:
    generator = torch.Generator().manual_seed(2)
    return SetBatch.single(3 * torch.randn(n_points, 2, generator=generator, dtype=torch.float64))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_only_ncp_seats_point_by_point(doubtful):
    assert isinstance(doubtful, PointWise)
    assert not isinstance(build("dac", {}), PointWise)
    assert not isinstance(build("amcp", {}), PointWise)
    assert not isinstance(fakes.PointByPoint(), PointWise)  # which has no sums


def test_draws_differ_and_the_most_probable_is_kept(doubtful):
    best = most_probable(doubtful, one_set(), 40, seeded())
    labels, log_probabilities = best.samples
    assert labels.shape == (40, 8)
    assert len(labels.unique(dim=0)) > 5
    expected = labels[log_probabilities.argmax()]
    assert torch.equal(claimed_labels(best.commits)[0], expected)
    total = sum(commit.log_probability for commit in best.commits)
    torch.testing.assert_close(total[0], log_probabilities.max())
    assert all(len(commit.joined) == 1 and commit.joined.any() for commit in best.commits)


def test_the_sums_of_the_kept_draw_are_those_of_its_clusters(doubtful):
    best, points = most_probable(doubtful, one_set(), 10, seeded()), one_set().points[0]
    sums = doubtful.sums(best.commits)[0]
    own = doubtful.network.seated_point(points)
    labels = claimed_labels(best.commits)[0]
    for cluster, found in enumerate(sums):
        torch.testing.assert_close(found, own[labels == cluster].sum(0))


def test_draws_in_several_rounds_are_all_there(doubtful, monkeypatch):
    monkeypatch.setattr(samples, "SEATED_AT_ONCE", 3 * 8)
    best = most_probable(doubtful, one_set(), 10, seeded())
    assert best.samples.labels.shape == (10, 8)
    place = int(best.samples.log_probabilities.argmax())
    assert torch.equal(claimed_labels(best.commits)[0], best.samples.labels[place])


def test_each_draw_has_an_order_of_its_own(doubtful):
    state = find_clusters(doubtful, one_set().repeated(30), generator=seeded())
    first = [labels.tolist().index(0) for labels in claimed_labels(state.commits)]
    assert len(set(first)) > 1  # cluster 0 is that of the first point seated


def test_the_same_generator_draws_the_same(doubtful):
    one, other = (draw_samples(doubtful, one_set(), 5, seeded(3)) for _ in range(2))
    assert torch.equal(one.labels, other.labels)
    third = draw_samples(doubtful, one_set(), 5, seeded(4))
    assert not torch.equal(one.labels, third.labels)


def test_probabilities_of_draws_are_those_of_their_seats(doubtful):
    batch = SetBatch.single(one_set(2).points[0])
    drawn = draw_samples(doubtful, batch, 400, seeded())
    labels = torch.tensor([[0, 0], [0, 1]])
    shown = torch.stack([batch.points[0], batch.points[0].flip(0)])  # two orders
    for partition in labels:
        each = partition.expand(2, -1)
        seats = doubtful.seat_log_probabilities(shown, each, each >= 0, prefixes(each, 2)).sum(1)
        apart = drawn.labels[:, 0] != drawn.labels[:, 1]
        same = drawn.log_probabilities[apart == bool(partition[1])]
        assert len(same)
        nearest = (same[:, None] - seats).abs().amin(1)
        assert float(nearest.max()) < 1e-9


def test_shares_of_the_number_of_clusters():
    draws = np.array([[0, 0, 1], [0, 0, 0], [2, 1, 0], [0, 1, 0], [-1, 1, -1]])
    np.testing.assert_allclose(shares_of_k(draws), [0, 0.4, 0.4, 0.2])


def test_the_co_assignment_counts_draws_in_which_rows_are_together():
    draws = np.array([[0, 0, 1, -1], [1, 0, 1, -1]])
    expected = [[1, 0.5, 0.5, 0], [0.5, 1, 0, 0], [0.5, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(co_assignment(draws), expected)


def test_a_co_assignment_matrix_beyond_the_memory_is_refused():
    require_pairs(10_000)
    with pytest.raises(ValueError, match=r"of 50,000 rows would take 20\.0 GB; .* 10,000 rows"):
        require_pairs(50_000)


def test_seating_for_days_is_refused_with_the_time_it_would_take(doubtful):
    full = build("ncp", {})
    require_time(full, 3000, 50)
    with pytest.raises(ValueError, match=r"seating 900,000,000 points .* 50 times .* \d+ days"):
        require_time(full, 900_000_000, 50)
    with pytest.raises(ValueError, match=r"1 time in parallel"):
        require_time(full, 10_000_000, 1)
    with pytest.raises(ValueError, match="seating 100,000,000 points"):
        draw_samples(doubtful, _huge(), 1, seeded())


def _huge() -> SetBatch:
    """A hundred million points, in no memory."""
    points = torch.zeros(1, 1, 2).double().expand(1, 100_000_000, 2)
    return SetBatch(points, torch.ones(1, 1, dtype=torch.bool).expand(1, 100_000_000))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.4, "12 seconds"), (900, "15 minutes"), (9000, "2 hours"), (86_400 * 3, "3 days")],
)
def test_durations_are_told_in_words(seconds, words):
    assert in_words(seconds) == words
