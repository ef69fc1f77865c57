from itertools import product

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from coterie.functional.matching import (
    cluster_mean,
    membership_loss,
    minimum_over_clusters,
    overlap,
)

K = 4
# The third cluster has no points in the first set; only masked points of the second have label 3.
LABELS = torch.tensor([[0, 1, 3, 1, 0, 3], [2, 0, 1, 2, 3, -1], [1, 1, 1, 1, -1, -1]])
MASK = torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [True] * 4 + [False] * 2])


def logits() -> torch.Tensor:
    drawn = torch.randn(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return 3 * drawn


def by_loop() -> torch.Tensor:
    """Binary cross-entropy of each set against each cluster, (B, K)."""
    losses = torch.empty(3, K, dtype=torch.float64)
    for b, row in enumerate(logits()):
        for j in range(K):
            target = (LABELS[b, MASK[b]] == j).double()
            losses[b, j] = binary_cross_entropy_with_logits(row[MASK[b]], target)
    return losses


def test_membership_loss_agrees_with_a_loop_of_cross_entropies():
    torch.testing.assert_close(membership_loss(logits(), LABELS, MASK, K), by_loop())


def test_the_minimum_is_over_the_clusters_that_have_points():
    present = [[0, 1, 3], [0, 1, 2], [1]]
    expected = torch.stack([by_loop()[b, found].min() for b, found in enumerate(present)])
    found = minimum_over_clusters(membership_loss(logits(), LABELS, MASK, K), LABELS, MASK)
    torch.testing.assert_close(found, expected)


def test_an_absent_cluster_is_never_the_easiest():
    losses = torch.tensor([[5.0, 4.0, -9.0, 3.0], [5.0, 6.0, 7.0, -9.0], [-9.0, 1.0, -9.0, -9.0]])
    assert minimum_over_clusters(losses, LABELS, MASK).tolist() == [3.0, 5.0, 1.0]


def test_cluster_mean_agrees_with_a_loop():
    values = logits()
    found = cluster_mean(values, LABELS, MASK, K)
    for b in range(3):
        for j in range(K):
            own = values[b, MASK[b] & (LABELS[b] == j)]
            expected = own.mean() if len(own) else torch.zeros((), dtype=torch.float64)
            torch.testing.assert_close(found[b, j], expected)


def test_masked_logits_change_nothing():
    wild = torch.where(MASK, logits(), torch.nan)
    torch.testing.assert_close(membership_loss(wild, LABELS, MASK, K), by_loop())
    calm = torch.where(MASK, logits(), 0.0)
    torch.testing.assert_close(
        cluster_mean(wild, LABELS, MASK, K), cluster_mean(calm, LABELS, MASK, K)
    )


def test_renumbering_the_clusters_leaves_the_minimum():
    renumber = torch.tensor([2, 0, 3, 1, -1])  # the last entry is what -1 looks up
    renumbered = renumber[LABELS]
    before, after = (
        minimum_over_clusters(membership_loss(logits(), labels, MASK, K), labels, MASK)
        for labels in (LABELS, renumbered)
    )
    torch.testing.assert_close(before, after)


def test_an_empty_set_costs_nothing_and_has_no_gradient():
    x = logits().requires_grad_()
    mask = MASK.clone()
    mask[1] = False
    losses = minimum_over_clusters(membership_loss(x, LABELS, mask, K), LABELS, mask)
    losses.sum().backward()
    assert losses[1] == 0.0
    assert (x.grad[1] == 0).all()
    assert (x.grad[mask] != 0).all()
    assert x.grad.isfinite().all()


def test_gradient_is_exact():
    def loss(x):
        return minimum_over_clusters(membership_loss(x, LABELS, MASK, K), LABELS, MASK)

    assert torch.autograd.gradcheck(loss, (logits().requires_grad_(),))


def test_logits_of_any_size_stay_finite():
    huge = torch.tensor([[1e4, -1e4, 1e4, -1e4, 1e4, -1e4]])
    losses = membership_loss(huge, LABELS[:1], MASK[:1], K)
    assert losses.isfinite().all()
    # Against cluster 0 = {0, 4}: right on both, wrong on point 2 alone, at a cost of 1e4.
    torch.testing.assert_close(losses[0, 0], torch.tensor(1e4 / 6))


def test_overlap_is_the_jaccard_index_of_sets():
    every = list(product([0.0, 1.0], repeat=4))
    pairs = torch.tensor(list(product(every, repeat=2)), dtype=torch.float64)  # (256, 2, 4)
    for pair, shared in zip(pairs, overlap(pairs[:, 0], pairs[:, 1]), strict=True):
        found, wanted = ({i for i in range(4) if members[i]} for members in pair)
        either = found | wanted
        assert shared == (len(found & wanted) / len(either) if either else 0.0)


def test_overlap_of_memberships_is_that_of_independent_draws():
    # The expected intersection over the expected union, and never outside of [0, 1].
    found, wanted = logits().sigmoid(), (logits() > 1).double()
    both, either = (found * wanted).sum(1), (1 - (1 - found) * (1 - wanted)).sum(1)
    torch.testing.assert_close(overlap(found, wanted), both / either)
    assert ((overlap(found, wanted) >= 0) & (overlap(found, wanted) <= 1)).all()


def test_overlap_keeps_the_leading_axes():
    found, wanted = logits().sigmoid()[:, None].expand(3, 2, 6), torch.ones(3, 2, 6)
    torch.testing.assert_close(overlap(found, wanted)[:, 1], found.mean(2)[:, 0])
