import math

import pytest
import torch

from coterie.functional.partitions import claim, one_hot, stick_breaking

NEVER = torch.tensor([100])
ALWAYS = torch.tensor([0])


def logits_of(*probabilities: float) -> torch.Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).logit()


def everything(logits: torch.Tensor) -> torch.Tensor:
    return torch.ones(logits.shape, dtype=torch.bool)


def test_one_hot_marks_the_cluster_and_nothing_for_none():
    expected = torch.tensor([[False, False, True], [False] * 3, [True, False, False]])
    assert torch.equal(one_hot(torch.tensor([2, -1, 0]), 3), expected)


def test_claim_takes_what_is_above_one_half():
    logits = logits_of(0.9, 0.51, 0.49, 0.1)
    for too_many in (NEVER, ALWAYS):
        assert claim(logits, everything(logits), too_many).tolist() == [[True, True, False, False]]


def test_claim_leaves_what_is_exactly_one_half():
    logits = logits_of(0.9, 0.5)
    assert claim(logits, everything(logits), NEVER).tolist() == [[True, False]]


def test_claim_never_takes_a_point_twice():
    logits, remaining = logits_of(0.9, 0.9, 0.1), torch.tensor([[False, True, True]])
    assert claim(logits, remaining, ALWAYS).tolist() == [[False, True, False]]


def test_an_undecided_claim_takes_half_the_largest_probability():
    logits, remaining = logits_of(0.9, 0.4, 0.21, 0.19), torch.tensor([[False, True, True, True]])
    assert claim(logits, remaining, ALWAYS).tolist() == [[False, True, True, False]]


@pytest.mark.parametrize(("too_many", "takes"), [(1, True), (2, False), (3, False)])
def test_few_undecided_points_end_the_search(too_many, takes):
    logits = logits_of(0.4, 0.3)
    taken = claim(logits, everything(logits), torch.tensor([too_many]))
    assert taken.any() == takes


def test_each_set_decides_for_itself():
    logits = torch.cat([logits_of(0.4, 0.3), logits_of(0.4, 0.3), logits_of(0.6, 0.3)])
    taken = claim(logits, everything(logits), torch.tensor([0, 5, 0]))
    assert taken.tolist() == [[True, True], [False, False], [True, False]]


def test_claim_takes_nothing_where_nothing_remains():
    logits = logits_of(0.9, 0.9)
    assert not claim(logits, ~everything(logits), ALWAYS).any()


def test_stick_breaking_agrees_with_a_loop():
    logits = 2 * torch.randn(
        3, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    found = stick_breaking(logits).exp()
    for b in range(3):
        for i in range(5):
            left, shares = 1.0, []
            for logit in logits[b, i].tolist():
                membership = 1 / (1 + math.exp(-logit))
                shares.append(left * membership)
                left *= 1 - membership
            expected = torch.tensor(shares, dtype=torch.float64) / sum(shares)
            torch.testing.assert_close(found[b, i], expected)


def test_stick_breaking_passes_over_points_that_were_assigned_before():
    logits = torch.tensor([[5.0, -torch.inf, -torch.inf], [-3.0, 2.0, -torch.inf]])
    found = stick_breaking(logits)
    assert found[0].tolist() == [0.0, -torch.inf, -torch.inf]
    torch.testing.assert_close(found[:, :2].exp().sum(1), torch.ones(2))


def test_stick_breaking_bears_a_step_that_is_certain():
    logits = torch.tensor([[-1.0, 3e7, -1.0], [-1.0, torch.inf, -1.0]])
    first = torch.tensor(-1.0).sigmoid()
    expected = torch.stack([first, 1 - first, torch.tensor(0.0)]).expand(2, 3)
    torch.testing.assert_close(stick_breaking(logits).exp(), expected)
