import torch

from coterie.data.priors.crowded import CrowdedMixtures
from coterie.data.priors.mog import MixtureOfGaussians


def centres(batch):
    """The mean of each cluster with some points, and how far the centres of a set lie apart."""
    found, spreads = [], []
    for points, labels in zip(batch.points, batch.labels, strict=True):
        own = [points[labels == k].mean(0) for k in range(4) if (labels == k).sum() > 5]
        found += own
        if len(own) > 1:
            spreads.append(torch.stack(own).std(0).mean())
    return torch.stack(found), torch.stack(spreads)


def test_clusters_lie_closer_together_but_anywhere():
    crowded, plain = (
        centres(prior(n_max=100, k_max=4).sample(400, torch.Generator().manual_seed(0)))
        for prior in (CrowdedMixtures, MixtureOfGaussians)
    )
    assert abs(float(crowded[0].std() / plain[0].std()) - 1) < 0.1
    assert float(crowded[1].median()) < 0.75 * float(plain[1].median())


def test_clusters_are_as_wide_as_ever():
    batch = CrowdedMixtures(n_max=100, k_max=2).sample(200, torch.Generator().manual_seed(1))
    widths = [
        points[labels == 0].std(0).mean()
        for points, labels in zip(batch.points, batch.labels, strict=True)
        if (labels == 0).sum() > 20
    ]
    assert abs(float(torch.stack(widths).mean()) - 0.25) < 0.02
    assert (batch.points[~batch.mask] == 0).all()
