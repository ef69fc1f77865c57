import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from bench.mog import mog_setting
from bench.sets import consult, draw_sets, unpad
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians

SMALL = mog_setting(60, 3, k_limit=4)


def scipy_joint(points, log_weight, mean, log_scale):
    """log pi_j + log N(x_i; mu_j, diag(sigma_j^2)) of the clusters that exist: (n, K)."""
    columns = [
        weight + multivariate_normal(centre, np.diag(scale**2)).logpdf(points)
        for weight, centre, scale in zip(log_weight, mean, np.exp(log_scale), strict=True)
        if np.isfinite(weight)
    ]
    return np.stack(columns, 1)


def test_oracle_agrees_with_scipy():
    batch, mixture = MixtureOfGaussians(80, 4).draw(6, torch.Generator().manual_seed(3))
    for number, given in enumerate(unpad(batch, mixture)):
        parts = [part[number].double().numpy() for part in mixture]
        joint = scipy_joint(given.points.astype(np.float64), *parts)
        expected = np.logaddexp.reduce(joint, axis=1).mean()
        assert given.oracle.log_likelihood == pytest.approx(expected, abs=1e-9)
        np.testing.assert_array_equal(given.oracle.labels, joint.argmax(1))


def test_oracle_uses_the_weights_as_drawn():
    batch, mixture = MixtureOfGaussians(80, 2).draw(1, torch.Generator().manual_seed(1))
    points, truth = batch.points[0][batch.mask[0]], type(mixture)(*(part[0] for part in mixture))
    halved = truth._replace(log_weight=truth.log_weight - np.log(2))
    difference = consult(points, truth).log_likelihood - consult(points, halved).log_likelihood
    assert difference == pytest.approx(np.log(2), abs=1e-6)


def test_unpad_leaves_the_valid_points_and_their_labels():
    points = torch.arange(12.0).reshape(2, 3, 2)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    labels = torch.tensor([[1, 0, -1], [0, 0, 1]])
    first, second = unpad(SetBatch(points, mask, labels))
    np.testing.assert_array_equal(first.points, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(first.labels, [1, 0])
    assert second.points.shape == (3, 2)
    assert first.oracle is None


def test_sets_without_labels_are_refused():
    with pytest.raises(ValueError, match="labels"):
        unpad(SetBatch.single(torch.zeros(3, 2)))


def test_a_seed_gives_the_same_sets_and_fewer_are_the_first_of_more():
    few, many = draw_sets(SMALL, 3, seed=5), draw_sets(SMALL, 60, seed=5)
    assert (len(few), len(many)) == (3, 60)
    for one, other in zip(few, many, strict=False):
        np.testing.assert_array_equal(one.points, other.points)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_seeds_and_settings_have_streams_of_their_own():
    start = [
        draw_sets(setting, 1, seed)[0].points[:5]
        for setting, seed in ((SMALL, 0), (SMALL, 1), (mog_setting(61, 3, k_limit=4), 0))
    ]
    assert not np.array_equal(start[0], start[1])
    assert not np.array_equal(start[0], start[2])


def test_sets_are_not_those_of_a_small_seed():
    plain = MixtureOfGaussians(60, 3).sample(1, torch.Generator().manual_seed(0))
    ours = draw_sets(SMALL, 1, seed=0)[0]
    assert not np.array_equal(plain.points[0, :5].numpy(), ours.points[:5])
