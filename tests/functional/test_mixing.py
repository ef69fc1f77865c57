import ot
import pytest
import torch
from sklearn.mixture import GaussianMixture

from coterie.functional import mixing
from coterie.functional.mixing import (
    E_STEPS,
    column_sum,
    kernel_scores,
    mixed_sum,
    mixing_means,
    mixing_weights,
)

N, R, C = 30, 5, 3


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def keys(generator):
    return torch.randn(N, C, generator=generator, dtype=torch.float64)


@pytest.fixture
def references(generator):
    return torch.randn(R, C, generator=generator, dtype=torch.float64)


@pytest.fixture
def scores(keys, references):
    return plain_scores(keys, references)


@pytest.fixture
def everyone():
    return torch.ones(N, dtype=torch.bool)


def plain_scores(keys, references):
    return kernel_scores(keys, references, torch.ones(1, 1, dtype=keys.dtype))


def test_the_kernel_is_gaussian_up_to_a_constant_per_point(keys, references, scores):
    distance = torch.cdist(keys, references).square()
    difference = scores + 0.5 * distance
    torch.testing.assert_close(difference, difference[:, :1].expand_as(difference))


def test_regular_is_the_posterior_of_a_gaussian_mixture(keys, references, scores, everyone):
    mixture = GaussianMixture(R, covariance_type="spherical")
    weights = torch.arange(1, R + 1, dtype=torch.float64) / (R * (R + 1) / 2)
    mixture.weights_ = weights.numpy()
    mixture.means_ = references.numpy()
    mixture.covariances_ = mixture.precisions_cholesky_ = torch.ones(R).double().numpy()
    expected = torch.from_numpy(mixture.predict_proba(keys.numpy()))
    found = mixing_weights(scores, everyone, "regular", log_mass=weights.log())
    torch.testing.assert_close(found, expected)


def test_column_is_attention_of_the_references_over_the_points(keys, references, everyone):
    # Eq. 20-25: with a linear kernel each reference becomes softmax(phi W x / sqrt(d)) W x.
    temperature = C**-0.5
    linear = (keys @ references.T) * temperature
    moved = mixing_weights(linear, everyone, "column").T @ keys
    expected = torch.nn.functional.scaled_dot_product_attention(references, keys, keys)
    torch.testing.assert_close(moved, expected)


def test_ot_matches_pot_and_keeps_both_marginals(scores, everyone):
    marginal = torch.arange(1, R + 1, dtype=torch.float64) / (R * (R + 1) / 2)
    weights = mixing_weights(
        scores, everyone, "ot", log_mass=marginal.log(), sinkhorn_iterations=500
    )
    points = torch.full((N,), 1 / N, dtype=torch.float64)
    expected = ot.bregman.sinkhorn_log(
        points, marginal, -scores, reg=1.0, stopThr=1e-12, numItermax=10_000
    )
    torch.testing.assert_close(weights / N, expected, atol=1e-10, rtol=1e-8)
    torch.testing.assert_close(weights.sum(1), torch.ones(N).double())
    torch.testing.assert_close(weights.sum(0), N * marginal)


@pytest.mark.parametrize("e_step", E_STEPS)
def test_masked_points_have_no_influence(keys, references, e_step):
    mask = torch.arange(N) < 20
    alone = mixing_weights(plain_scores(keys[:20], references), mask[:20], e_step)
    among = mixing_weights(plain_scores(keys, references), mask, e_step)
    torch.testing.assert_close(among[:20], alone)
    assert not among[20:].any()


@pytest.mark.parametrize("e_step", E_STEPS)
def test_gradients(keys, references, e_step):
    mask = torch.arange(8) < 6

    def mixed(keys, references):
        weights = mixing_weights(
            plain_scores(keys, references), mask, e_step, sinkhorn_iterations=4
        )
        return weights.T @ keys

    inputs = keys[:8].clone().requires_grad_(), references.clone().requires_grad_()
    assert torch.autograd.gradcheck(mixed, inputs)


def test_em_steps_never_lower_the_bound(keys, references, everyone):
    # Eq. 15 is tight after an E-step, so the bound is the mixture's log-likelihood.
    no_prior = torch.zeros(R, 1, dtype=torch.float64)
    n_points = torch.full((1, 1), N, dtype=torch.float64)
    bounds = []
    for _ in range(15):
        distance = torch.cdist(keys, references).square()
        bounds.append(float((-0.5 * distance).logsumexp(1).sum()))
        weights = mixing_weights(plain_scores(keys, references), everyone, "regular")
        references = mixing_means(keys, weights, references, no_prior, n_points)
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0] + 1


def test_the_prior_holds_a_reference_that_no_point_wants(keys):
    weights = torch.zeros(N, 1, dtype=torch.float64)
    home = torch.tensor([[5.0, 6.0, 7.0]], dtype=torch.float64)
    share = torch.full((1, 1), 0.01, dtype=torch.float64)
    n_points = torch.full((1, 1), N, dtype=torch.float64)
    torch.testing.assert_close(mixing_means(keys, weights, home, share, n_points), home)


# Three sets of seven points, seen by two heads: one whole, one torn, one of a single point.
MASKS = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0]]).bool()


@pytest.fixture
def seen_by_heads(generator):
    """References (B, H, R, C), keys and values (B, H, N, C)."""
    shapes = (3, 2, R, C), (3, 2, 7, C), (3, 2, 7, C)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.fixture(params=[False, True], ids=["whole", "sharded"])
def either_way(request, monkeypatch):
    """In one product, or in the steps that shards of a set take; here all points are at hand."""
    monkeypatch.setattr(mixing, "is_sharded", lambda: request.param)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("masks", [MASKS, torch.ones_like(MASKS)], ids=["some", "all"])
def test_column_sum_is_the_column_step_and_its_mixed_sum(seen_by_heads, masks):
    references, keys, values = seen_by_heads
    temperature = torch.tensor([0.7, 1.9], dtype=torch.float64)[:, None, None]
    scores = kernel_scores(keys, references, temperature)
    weights = mixing_weights(scores, masks[:, None].expand(-1, 2, -1), "column")
    found = column_sum(references * temperature, keys, values, masks)
    torch.testing.assert_close(found, mixed_sum(weights, values), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("either_way")
def test_column_sum_never_sees_masked_points(seen_by_heads):
    references, keys, values = seen_by_heads
    masked = ~MASKS[:, None, :, None]
    wild = (torch.where(masked, 1e6, part) for part in (keys, values))
    expected = column_sum(references, keys, values, MASKS)
    torch.testing.assert_close(column_sum(references, *wild, MASKS), expected)


@pytest.mark.usefixtures("either_way")
def test_gradients_of_the_column_sum(seen_by_heads):
    inputs = [part.requires_grad_() for part in seen_by_heads]
    assert torch.autograd.gradcheck(lambda *parts: column_sum(*parts, MASKS), inputs)


@pytest.mark.usefixtures("either_way")
def test_a_set_without_points_has_a_finite_column_sum_and_spoils_no_other(seen_by_heads):
    nobody = MASKS & torch.tensor([True, False, True])[:, None]
    inputs = [part.requires_grad_() for part in seen_by_heads]
    found, expected = column_sum(*inputs, nobody), column_sum(*inputs, MASKS)
    assert found.isfinite().all()
    torch.testing.assert_close(found[[0, 2]], expected[[0, 2]])
    found.square().sum().backward()
    assert all(part.grad.isfinite().all() for part in inputs)
