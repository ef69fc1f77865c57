import pytest
import torch

from coterie.data.priors.sifting import FEWEST


def distances(points: torch.Tensor) -> torch.Tensor:
    exact = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    return exact.fill_diagonal_(torch.inf)


def to_strangers(points: torch.Tensor, labels: torch.Tensor) -> float:
    """From any point to the nearest of another label."""
    same = labels[:, None] == labels
    return float(torch.where(same | (labels < 0), torch.inf, distances(points))[labels >= 0].amin())


def usual_distance(points: torch.Tensor) -> float:
    return float(distances(points).amin(1).median())


@pytest.mark.parametrize("k", [3, 6, 12])
def test_regions_keep_their_gaps(k, draw):
    points, labels = draw("regions", k=k, n=400, n_sets=45)
    found = [
        to_strangers(one, label) > 1.3 * usual_distance(one[label >= 0])
        for one, label in zip(points, labels, strict=True)
    ]
    # The others differ by their density alone, or are bent until a gap is narrow.
    assert sum(found) > 30


def test_regions_without_a_gap_differ_in_density(draw):
    points, labels = draw("regions", k=2, n=400, n_sets=100)
    touching = 0
    for one, label in zip(points, labels, strict=True):
        parts = [one[label == j] for j in label[label >= 0].unique()]
        dense, *thin = sorted(map(usual_distance, parts))
        if thin and thin[0] > 2.6 * dense:  # a gap goes with densities that differ less
            touching += 1
            assert to_strangers(one, label) < 2 * thin[0]
    assert 8 < touching < 50


@pytest.mark.parametrize("k", [2, 9, 16])
def test_every_region_that_is_named_has_points(k, draw):
    _, labels = draw("regions", k=k, n=300)
    for label in labels:
        _, count = label[label >= 0].unique(return_counts=True)
        assert count.min() >= FEWEST // 2


def test_hardly_a_region_is_lost(draw):
    _, labels = draw("regions", k=8, n=400, n_sets=60)
    found = [len(label[label >= 0].unique()) for label in labels]
    assert sum(found) / 60 > 6.5
    assert (labels >= 0).sum(1).float().mean() > 0.8 * 400
