import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score as ari

from coterie.data.priors.families.ellipsoids import ellipsoids


def correlations(points: torch.Tensor) -> torch.Tensor:
    """The absolute correlations of the columns of each set (B, D * (D - 1) / 2)."""
    above = torch.triu_indices(points.shape[2], points.shape[2], 1)
    return torch.stack([one.T.corrcoef()[above[0], above[1]].abs() for one in points])


def test_the_generator_alone_decides(draw):
    state = torch.random.get_rng_state()
    first, again, other = (draw(ellipsoids, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first.points, again.points)
    assert not torch.equal(first.points, other.points)


@pytest.mark.parametrize("k", [1, 2, 5, 13])
@pytest.mark.parametrize("used", [1, 2, 6, 40])
def test_labels_are_those_of_the_plan_and_other_columns_empty(k, used, draw):
    points, labels = draw(ellipsoids, k=k, used=used, columns=40)
    assert points.isfinite().all()
    assert (points[..., used:] == 0).all()
    assert (points[:, :200, :used].std(1) > 0.01).all()
    assert all(len(one.unique()) == k + 1 for one in labels)


def test_clusters_overlap_but_can_be_told_by_who_knows_their_covariance(draw):
    points, labels = draw(ellipsoids, k=3, n=600, columns=10, used=10, n_sets=40)
    found = []
    for one, label in zip(points[:, :600], labels[:, :600], strict=True):
        rule = LinearDiscriminantAnalysis().fit(one, label)
        found.append(ari(label, rule.predict(one)))
    found = torch.tensor(found)
    assert found.median() > 0.7
    assert (found > 0.3).float().mean() > 0.85
    assert (found < 0.95).float().mean() > 0.3


def test_columns_are_correlated_or_not(draw):
    points, _ = draw(ellipsoids, k=1, n=500, columns=20, used=20, n_sets=60)
    typical = correlations(points[:, :500]).median(1).values
    assert (typical > 0.3).float().mean() > 0.15
    assert (typical < 0.15).float().mean() > 0.2


def test_some_columns_say_nothing_of_the_clusters(draw):
    points, labels = draw(ellipsoids, k=2, n=500, columns=30, used=30, n_sets=60)
    between = torch.stack(
        [
            torch.stack([one[label == j].mean(0) for j in range(2)]).std(0) / one[:500].std(0)
            for one, label in zip(points, labels, strict=True)
        ]
    )
    useless = (between < 0.15).float().mean(1)
    assert (useless > 0.2).float().mean() > 0.3
    assert (between.amax(1) > 0.5).float().mean() > 0.8


def test_many_clusters_fit_into_one_column(draw):
    points, labels = draw(ellipsoids, k=8, n=800, columns=4, used=1, n_sets=30)
    for one, label in zip(points[..., 0], labels, strict=True):
        middle = torch.stack([one[label == j].median() for j in range(8)])
        assert middle.sort().values.diff().min() > 0.05
