import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from coterie.functional.em import Gaussians
from coterie.inference.assignment import apply, apply_labels
from coterie.inference.rules.merged import MergedRule, closest_pair, with_merges
from coterie.inference.rules.mixture import MixtureRule


def line(*centres, scale=0.25):
    """Equal clusters in a row, as a rule of two columns."""
    mean = torch.tensor([[centre, 0.0] for centre in centres], dtype=torch.float64)
    weight = torch.full((len(centres),), -np.log(len(centres)), dtype=torch.float64)
    return MixtureRule(Gaussians(weight, mean, torch.full_like(mean, np.log(scale))))


def around(*centres, size=40, scale=0.25):
    """Points around these centres, in their order."""
    noise = np.random.default_rng(0).normal(0, scale, (len(centres), size, 2))
    noise[..., 0] += np.array(centres)[:, None]
    return noise.reshape(-1, 2).astype(np.float32)


def test_probabilities_of_a_group_are_added():
    rule = line(0, 1, 5, 6)
    points = torch.tensor(around(0, 1, 5, 6))
    single = rule.log_probabilities(points).exp()
    merged = MergedRule(rule, ((0, 3), (2,), (1,)))
    expected = torch.stack([single[:, 0] + single[:, 3], single[:, 2], single[:, 1]], 1)
    torch.testing.assert_close(merged.log_probabilities(points).exp(), expected)
    assert merged.n_clusters == 3


def test_a_selection_leaves_the_members_of_other_groups_out():
    rule, points = line(0, 1, 5, 8), torch.tensor(around(0, 1, 5, 8))
    kept = MergedRule(rule, ((0, 3), (2,), (1,))).select(torch.tensor([2, 0]))
    single = rule.log_probabilities(points).exp()
    part = torch.stack([single[:, 1], single[:, 0] + single[:, 3]], 1)
    known = part.sum(1) > 1e-6
    found = kept.log_probabilities(points).exp()
    torch.testing.assert_close(found[known], (part / part.sum(1, keepdim=True))[known])
    assert kept.rule.n_clusters == 3  # a point near the cluster that went is wanted by none
    assert bool(kept.unwanted(torch.tensor([[5.0, 0.0]])))
    assert not bool(kept.unwanted(torch.tensor([[8.0, 0.0]])))


def test_the_pair_that_shares_most_points_comes_first():
    # 2 and 3 overlap; 0 and 1 are nearer to each other than both are to them, but sure.
    memberships = np.repeat(np.eye(4), 10, axis=0)
    memberships[20:40, 2:] = [[0.6, 0.4]] * 10 + [[0.4, 0.6]] * 10
    points = np.repeat([[0.0, 0], [0.1, 0], [50, 0], [90, 0]], 10, axis=0)
    assert closest_pair(points, memberships) == (2, 3)


def test_sharing_counts_for_more_in_a_small_cluster():
    memberships = np.zeros((110, 3))
    memberships[:50, 0] = memberships[50:100, 1] = memberships[100:, 2] = 1
    memberships[:10, :2] = [0.7, 0.3]  # a tenth of 0's points
    memberships[100:105] = [0.3, 0, 0.7]  # half of 2's
    assert closest_pair(np.zeros((110, 2)), memberships) == (0, 2)


@given(st.integers(0, 500), st.integers(3, 8))
def test_sure_clusters_are_joined_as_ward_has_it(seed, k):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(k, 3)) * 10
    # scipy's linkage of single points joins the same pair first as clusters of equal size.
    first, second = linkage(centres, "ward")[0, :2].astype(int)
    points, memberships = np.repeat(centres, 5, axis=0), np.repeat(np.eye(k), 5, axis=0)
    assert closest_pair(points, memberships) == (min(first, second), max(first, second))


@pytest.mark.parametrize("at_most", range(1, 6))
def test_no_more_clusters_than_asked_for(at_most):
    points = around(0, 1, 8, 9.5, 20)
    rule = with_merges(line(0, 1, 8, 9.5, 20), points, at_most)
    assert rule.n_clusters == len(set(apply_labels(rule, points))) == at_most
    expected = {3: [0, 0, 1, 1, 2], 2: [0, 0, 0, 0, 1]}
    if at_most in expected:
        centres = apply_labels(rule, around(0, 1, 8, 9.5, 20, size=1, scale=0))
        assert len(set(zip(expected[at_most], centres.tolist(), strict=True))) == at_most


def test_a_cluster_whose_points_a_sum_takes_is_gone():
    # Alone each of the outer two gets less than the middle one, together they get more.
    rule = line(-0.02, 0.0, 0.02)
    rule = MixtureRule(rule.mixture._replace(log_weight=torch.tensor([0.3, 0.4, 0.3]).log()))
    points = np.concatenate([around(0), around(-9), around(9)])
    outer = line(-9, 9)
    both = MixtureRule(
        Gaussians(
            torch.cat([rule.mixture.log_weight, outer.mixture.log_weight]).log_softmax(0),
            torch.cat([rule.mixture.mean, outer.mixture.mean]),
            torch.cat([rule.mixture.log_scale, outer.mixture.log_scale]),
        )
    )
    merged = with_merges(both, points, 4)
    assert merged.n_clusters == len(set(apply_labels(merged, points))) <= 4


def test_noise_has_no_say_in_it():
    # Two strays between 0 and 4 would else join these.
    rule, points = line(0, 4, 6.0), around(0, 4, 6.0)
    strays = np.array([[2.0, 50.0]] * 30, dtype=np.float32)
    calm = with_merges(rule, points, 2).groups
    assert with_merges(rule, np.concatenate([points, strays]), 2, noise=True).groups == calm


def test_chunks_do_not_matter():
    points = around(0, 1, 8)
    rule = with_merges(line(0, 1, 8), points, 2)
    whole, parts = apply(rule, points), apply(rule, points, 7)
    np.testing.assert_allclose(whole.probabilities, parts.probabilities, rtol=0, atol=1e-12)
