import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from coterie.functional.em import Gaussians
from coterie.inference.assignment import apply, apply_labels
from coterie.inference.rules.cuts import SHARP, Cut
from coterie.inference.rules.divided import DividedRule, with_cuts
from coterie.inference.rules.mixture import MixtureRule


def one_cluster(columns=2):
    mean = torch.zeros(1, columns, dtype=torch.float64)
    return MixtureRule(Gaussians(torch.zeros(1, dtype=torch.float64), mean, mean))


def two_clusters():
    mean = torch.tensor([[0.0, 0.0], [20.0, 0.0]], dtype=torch.float64)
    return MixtureRule(Gaussians(torch.full((2,), 0.5).double().log(), mean, 0 * mean))


def normal(n, *, at=(0.0, 0.0), scale=(1.0, 1.0), seed=0):
    return (np.random.default_rng(seed).normal(size=(n, 2)) * scale + at).astype(np.float32)


def test_a_part_has_its_share_of_the_cluster():
    points = torch.tensor([[0.0, 1.0], [2.0, 0.0], [21.0, 0.0]])
    cut = Cut(0, (0.0, 0.0), (1.0, 0.0), threshold=1.0, slope=3.0)
    found = DividedRule.of(two_clusters(), (cut,)).log_probabilities(points).exp().numpy()
    whole = two_clusters().log_probabilities(points).exp().numpy()
    far = expit(3.0 * (points[:, 0].double().numpy() - 1))
    np.testing.assert_allclose(found[:, 0], whole[:, 0] * (1 - far), atol=1e-12)
    np.testing.assert_allclose(found[:, 2], whole[:, 0] * far, atol=1e-12)
    np.testing.assert_allclose(found[:, 1], whole[:, 1], atol=1e-12)


def test_a_part_may_be_cut_again():
    across, along = ((1.0, 0.0), (0.0, 1.0))
    cuts = Cut(0, (0.0, 0.0), across, 2.0, SHARP), Cut(0, (0.0, 0.0), along, 0.0, SHARP)
    rule = DividedRule.of(one_cluster(), cuts)
    points = np.array([[0, -1], [0, 1], [3, -1], [3, 1]], dtype=np.float32)
    assert apply_labels(rule, points).tolist() == [0, 2, 1, 1]


def test_a_selection_permutes_and_shares():
    cut = Cut(0, (0.0, 0.0), (1.0, 0.0), threshold=0.0, slope=1.0)
    rule, points = DividedRule.of(two_clusters(), (cut,)), torch.tensor(normal(20))
    whole = rule.log_probabilities(points).exp()
    turned = rule.select(torch.tensor([2, 0, 1])).log_probabilities(points).exp()
    torch.testing.assert_close(turned, whole[:, [2, 0, 1]])
    part = rule.select(torch.tensor([2, 0])).select(torch.tensor([1, 0]))
    expected = whole[:, [0, 2]] / whole[:, [0, 2]].sum(1, keepdim=True)
    torch.testing.assert_close(part.log_probabilities(points).exp(), expected)


def test_what_looks_like_two_is_cut_before_what_is_large():
    large, two = normal(400, scale=(4.0, 4.0)), normal(40, at=(20.0, 0.0), scale=(0.1, 0.1))
    two[:20, 1] += 2
    points = np.concatenate([large, two])
    rule = two_clusters()
    rule = MixtureRule(rule.mixture._replace(log_scale=torch.tensor([[1.4, 1.4], [0.0, 0.0]])))
    labels = apply_labels(with_cuts(rule, points, 3), points)
    assert len(set(labels[:400])) == 1
    assert set(labels[400:420]).isdisjoint(labels[420:])


rows = arrays(
    np.float32,
    st.tuples(st.integers(1, 25), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, 1.0 + 2**-23]),
)


@given(rows, st.integers(1, 25), st.integers(1, 6))
def test_there_are_as_many_clusters_as_asked_for_while_rows_differ(points, k, min_size):
    rule, distinct = one_cluster(points.shape[1]), len(np.unique(points, axis=0))
    if k > distinct:
        with pytest.raises(ValueError, match=f"only {distinct} are distinct"):
            with_cuts(rule, points, k, min_size=min_size)
        return
    divided = with_cuts(rule, points, k, min_size=min_size)
    labels = apply_labels(divided, points)
    assert len(set(labels)) == divided.n_clusters == k
    assert (apply_labels(divided, points, 3) == labels).all()
    np.testing.assert_allclose(apply(divided, points).probabilities.sum(1), 1, rtol=1e-9)


@given(st.integers(0, 1000), st.integers(2, 12))
def test_permuting_the_points_permutes_the_labels(seed, k):
    points = normal(60, scale=(3.0, 1.0), seed=seed)
    order = np.random.default_rng(seed).permutation(60)
    labels = apply_labels(with_cuts(one_cluster(), points, k), points)
    permuted = apply_labels(with_cuts(one_cluster(), points[order], k), points[order])
    assert (permuted == labels[order]).all()


def test_a_cut_is_sharp_where_another_cluster_would_take_the_points():
    # Around the origin the points are barely the first cluster's: a part of that is too little.
    mean = torch.zeros(2, 2, dtype=torch.float64)
    scale = torch.tensor([[1.0, 1.0], [1.3, 1.3]], dtype=torch.float64)
    weight = torch.tensor([1.0, 1.56], dtype=torch.float64).log()
    rule = MixtureRule(Gaussians(weight.log_softmax(0), mean, scale.log()))
    points = np.concatenate([normal(50, scale=(0.1, 0.1)), [[6.0, 0.0]]]).astype(np.float32)
    assert apply_labels(rule, points).tolist() == [0] * 50 + [1]
    gentle, sharp = (with_cuts(rule, points, 3, min_size=size) for size in (1, 20))
    assert gentle.cuts[0].slope < sharp.cuts[0].slope == SHARP
    assert np.bincount(apply_labels(gentle, points)).min() >= 1
    labels = apply_labels(sharp, points)
    assert (labels[:50] != 1).all()
    assert labels[50] == 1
    assert np.bincount(labels)[[0, 2]].min() >= 20


def test_noise_is_not_cut_off():
    points = np.concatenate([normal(50), normal(5, at=(100.0, 0.0))])
    rule = with_cuts(one_cluster(), points, 2, noise=True)
    labels = apply_labels(rule, points, noise=True)
    assert (labels[50:] == -1).all()
    assert set(labels[:50]) - {-1} == {0, 1}
