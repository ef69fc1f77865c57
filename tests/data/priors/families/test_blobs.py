import pytest
import torch
from scipy import stats


def centred(points: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return points[labels >= 0] - points[labels >= 0].mean(0)


@pytest.mark.parametrize("used", [1, 2, 6])
def test_clusters_stand_apart(used, draw):
    points, labels = draw("blobs", k=6, n=600, used=used)
    for one, label in zip(points, labels, strict=True):
        clusters = [one[label == j] for j in range(6)]
        middle = torch.stack([cluster.median(0).values for cluster in clusters])
        nearest = torch.cdist(middle, middle).fill_diagonal_(torch.inf).amin()
        smallest = min(cluster[:, :used].std(0).square().mean().sqrt() for cluster in clusters)
        assert nearest > smallest


def test_clusters_of_few_points_stand_farther_apart(draw):
    def apart(n: int) -> float:
        """From a cluster to the next, in median deviations; the median cluster and set."""
        found = []
        for one, label in zip(*draw("blobs", k=8, n=n, n_sets=200), strict=True):
            clusters = [one[label == j][:, :2] for j in range(8)]
            middle = torch.stack([cluster.median(0).values for cluster in clusters])
            nearest = torch.cdist(middle, middle).fill_diagonal_(torch.inf).amin(1)
            own = [(each - at).abs().median() for each, at in zip(clusters, middle, strict=True)]
            found.append((nearest / torch.stack(own)).median())
        return float(torch.stack(found).median())

    assert apart(96) > 1.25 * apart(960)  # equal gaps would make it 1.1


def test_many_clusters_fit_on_a_line(draw, purity):
    found = purity(draw("blobs", k=16, n=480, used=1))
    assert found.mean() > 0.85
    assert found.min() > 0.6


def test_tails_are_normal_heavy_or_skewed(draw):
    points, labels = draw("blobs", k=1, n=1000, used=1, n_sets=60)
    columns = [centred(one, label)[:, 0].numpy() for one, label in zip(points, labels, strict=True)]
    heavy = [stats.kurtosis(column) > 1.5 for column in columns]
    skewed = [abs(stats.skew(column)) > 0.3 for column in columns]
    assert 0.15 < sum(heavy) / 60 < 0.6
    assert 0.1 < sum(skewed) / 60 < 0.6


def test_clusters_are_round_or_elongated(draw):
    points, labels = draw("blobs", k=1, n=1000, n_sets=60)
    spread = torch.stack(
        [centred(one, label)[:, :2].T.cov() for one, label in zip(points, labels, strict=True)]
    )
    variance = torch.linalg.eigvalsh(spread)
    ratio = (variance[:, 1] / variance[:, 0]).sqrt()
    assert (ratio < 1.2).sum() >= 10
    assert (ratio > 2).sum() >= 5
