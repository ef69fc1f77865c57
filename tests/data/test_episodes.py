import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.data.priors.mog import MixtureOfGaussians

K = 4


def sets(n_sets: int, present: int) -> SetBatch:
    """Sets of 3 points for each of the first clusters, and two points of padding."""
    labels = torch.arange(present).repeat_interleave(3)
    labels = torch.cat([labels, torch.tensor([-1, -1])]).expand(n_sets, -1)
    return SetBatch(torch.zeros(*labels.shape, 2), labels >= 0, labels)


def drop(batch: SetBatch, probability: float, seed: int = 0) -> SetBatch:
    return drop_clusters(batch, K, probability, torch.Generator().manual_seed(seed))


def kept_clusters(batch: SetBatch) -> torch.Tensor:
    """(B, K) bool: the clusters of which every point is left; a torn cluster is an error."""
    counts = torch.stack([(batch.mask & (batch.labels == j)).sum(1) for j in range(K)], 1)
    assert ((counts == 0) | (counts == 3)).all()
    return counts == 3


def test_probability_zero_leaves_everything():
    batch = sets(200, present=4)
    assert torch.equal(drop(batch, 0.0).mask, batch.mask)


@pytest.mark.parametrize("present", [1, 2, 4])
def test_a_set_never_becomes_empty(present):
    kept = kept_clusters(drop(sets(2000, present), 1.0))
    assert kept.any(1).all()
    assert not kept[:, present:].any()


@pytest.mark.parametrize("present", [2, 3, 4])
def test_half_of_the_clusters_go(present):
    kept = kept_clusters(drop(sets(20_000, present), 1.0))[:, :present].double()
    # A coin for each cluster, and one cluster more where every coin said no.
    expected = present / 2 + 0.5**present
    assert kept.sum(1).mean() == pytest.approx(expected, abs=0.03)
    assert kept.mean(0).tolist() == pytest.approx([expected / present] * present, abs=0.02)


def test_every_subset_occurs():
    kept = kept_clusters(drop(sets(2000, present=4), 1.0))
    assert len(kept.unique(dim=0)) == 2**4 - 1


def test_the_probability_is_that_of_a_set():
    whole = kept_clusters(drop(sets(20_000, present=4), 0.3)).all(1).double().mean()
    assert whole == pytest.approx(0.7 + 0.3 / 16, abs=0.015)


def test_points_that_were_masked_stay_masked():
    batch = sets(500, present=4)
    batch = batch.keep(batch.labels != 2)
    for probability in (0.0, 1.0):
        dropped = drop(batch, probability)
        assert not (dropped.mask & ~batch.mask).any()
        assert dropped.mask.any(1).all()


def test_same_seed_same_episode():
    batch = sets(100, present=4)
    assert torch.equal(drop(batch, 0.5, seed=3).mask, drop(batch, 0.5, seed=3).mask)
    assert not torch.equal(drop(batch, 0.5, seed=3).mask, drop(batch, 0.5, seed=4).mask)


def mixtures(n_sets: int, seed: int = 0) -> SetBatch:
    """Sets of 60 to 200 points in one to four clusters of any size, with padding."""
    return MixtureOfGaussians(n_max=200, k_max=K).sample(
        n_sets, torch.Generator().manual_seed(seed)
    )


def strays(batch: SetBatch) -> torch.Tensor:
    return batch.mask & (batch.labels < 0)


def leave(batch: SetBatch, stray_points: float, probability: float = 1.0) -> SetBatch:
    generator = torch.Generator().manual_seed(0)
    return drop_clusters(batch, K, probability, generator, stray_points=stray_points)


def test_lost_clusters_leave_few_strays_without_a_label():
    batch = mixtures(1000)
    clean, left = drop(batch, 1.0), leave(batch, 0.2)
    assert torch.equal(left.mask & (left.labels >= 0), clean.mask)
    assert torch.equal(left.labels[clean.mask], batch.labels[clean.mask])
    lost = batch.mask & ~clean.mask
    assert not (strays(left) & ~lost).any()
    behind, size = strays(left).sum(1).double(), lost.sum(1).double()
    assert behind.sum() / size.sum() == pytest.approx(0.1, abs=0.01)  # half of 20 % on average
    assert (behind <= 0.2 * size + 5 * (0.2 * 0.8 * size).sqrt() + 1).all()


def test_sets_that_lose_nothing_have_no_strays():
    batch = mixtures(300)
    assert torch.equal(leave(batch, 0.5, probability=0.0).mask, batch.mask)
    assert not strays(leave(batch, 0.5, probability=0.0)).any()


def test_labels_are_needed():
    with pytest.raises(ValueError, match="needs labels"):
        drop(SetBatch.single(torch.zeros(3, 2)), 0.5)
