import ot
import pytest
import torch

from coterie.functional.sinkhorn import sinkhorn

EPSILON = 0.3


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def masses(*shape: int, seed: int = 0) -> torch.Tensor:
    weights = 0.1 + draw(*shape, seed=seed)
    return weights / weights.sum(-1, keepdim=True)


def test_given_marginals_agree_with_pot():
    cost, a, b = draw(9, 4), masses(9, seed=1), masses(4, seed=2)
    plan = sinkhorn(
        -cost / EPSILON, log_point_mass=a.log(), log_reference_mass=b.log(), iterations=500
    )
    exact = ot.bregman.sinkhorn_log(a, b, cost, EPSILON, numItermax=10_000, stopThr=1e-15)
    torch.testing.assert_close(plan.exp(), exact, atol=1e-12, rtol=1e-9)


def test_uniform_marginals_are_the_default():
    cost = draw(7, 5)
    exact = ot.sinkhorn([], [], cost, EPSILON, numItermax=10_000, stopThr=1e-15)
    plan = sinkhorn(-cost / EPSILON, iterations=500).exp()
    torch.testing.assert_close(plan, exact, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_every_iteration_agrees_with_pot(iterations):
    # A sharp kernel, so that the iterates are still far from the limit and from one another.
    cost, a, b = draw(9, 4), masses(9, seed=1), masses(4, seed=2)
    plan = sinkhorn(
        -cost / 0.02, log_point_mass=a.log(), log_reference_mass=b.log(), iterations=iterations
    )
    exact = ot.bregman.sinkhorn_log(a, b, cost, 0.02, numItermax=iterations, warn=False)
    torch.testing.assert_close(plan.exp(), exact, atol=1e-13, rtol=1e-9)


def test_point_marginal_is_exact_and_reference_marginal_holds_in_the_limit():
    a, b = masses(2, 8, seed=1), masses(2, 3, seed=2)
    given = {"log_point_mass": a.log(), "log_reference_mass": b.log()}
    scores = -draw(2, 8, 3) / 0.05
    early, late = (sinkhorn(scores, iterations=n, **given).exp() for n in (1, 1000))
    torch.testing.assert_close(early.sum(-1), a)
    assert (early.sum(-2) - b).abs().max() > 1e-3
    torch.testing.assert_close(late.sum(-1), a)
    torch.testing.assert_close(late.sum(-2), b)


def test_batches_are_their_members():
    scores = 4 * draw(2, 3, 6, 4)
    batched = sinkhorn(scores)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(batched[i, j], sinkhorn(scores[i, j]))


@pytest.mark.parametrize("garbage", [0.0, 1e4, -1e4])
def test_masked_points_change_nothing(garbage):
    scores = 4 * draw(2, 6, 3)
    mask = torch.tensor([[True, False, True, True, False, True], [True] * 6])
    scores[~mask] = garbage
    plan = sinkhorn(scores, mask=mask)
    torch.testing.assert_close(plan[0, mask[0]], sinkhorn(scores[0, mask[0]]))
    torch.testing.assert_close(plan[1], sinkhorn(scores[1]))
    assert (plan[~mask] == -torch.inf).all()


def test_masked_points_change_nothing_with_given_marginals():
    scores = 4 * draw(6, 3)
    mask = torch.tensor([True, False, True, True, False, True])
    a, b = masses(4, seed=1), masses(3, seed=2)
    padded = torch.zeros(6, dtype=a.dtype)
    padded[mask] = a.log()
    plan = sinkhorn(scores, mask=mask, log_point_mass=padded, log_reference_mass=b.log())
    alone = sinkhorn(scores[mask], log_point_mass=a.log(), log_reference_mass=b.log())
    torch.testing.assert_close(plan[mask], alone)


def test_gradient_is_exact():
    mask = torch.tensor([[True, True, False, True], [True, True, True, True]])

    def plan(scores, log_point_mass, log_reference_mass):
        return sinkhorn(
            scores,
            mask=mask,
            log_point_mass=log_point_mass,
            log_reference_mass=log_reference_mass,
            iterations=4,
        ).exp()

    inputs = (3 * draw(2, 4, 3), masses(2, 4, seed=1).log(), masses(2, 3, seed=2).log())
    assert torch.autograd.gradcheck(plan, [x.requires_grad_() for x in inputs])


def test_an_empty_set_leaves_its_companions_alone():
    scores = 4 * draw(2, 5, 3).float()
    mask = torch.tensor([[True] * 5, [False] * 5])
    alone, together = scores[0].clone().requires_grad_(), scores.requires_grad_()
    sinkhorn(alone).exp().square().sum().backward()
    plan = sinkhorn(together, mask=mask)
    plan.exp().square().sum().backward()
    torch.testing.assert_close(together.grad[0], alone.grad)
    assert (together.grad[1] == 0).all()
    assert (plan[1] == -torch.inf).all()


def test_sharp_kernels_do_not_overflow():
    plan = sinkhorn(-draw(50, 5).float() / 1e-4, iterations=50)
    assert not plan.isnan().any()
    torch.testing.assert_close(plan.exp().sum(-1), torch.full((50,), 0.02), rtol=1e-2, atol=0)


def test_inputs_are_left_as_they_were():
    scores = draw(4, 3)
    before = scores.clone()
    sinkhorn(scores, mask=torch.tensor([True, False, True, True]))
    assert torch.equal(scores, before)
