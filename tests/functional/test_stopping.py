import pytest
import torch
from torch.nn.functional import binary_cross_entropy

from coterie.functional.stopping import log_going_on, log_stopped, n_steps_taken, stopping_loss


def draw(*shape: int) -> torch.Tensor:
    return 2 * torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_the_chain_is_a_product_of_sigmoids():
    logits = draw(5, 4)
    product = logits.sigmoid().cumprod(-1)
    torch.testing.assert_close(log_going_on(logits).exp(), product)
    torch.testing.assert_close(log_stopped(logits).exp(), 1 - product)


def test_the_loss_is_the_second_term_of_equation_12():
    logits, n_steps = draw(6, 4), torch.tensor([1, 2, 3, 4, 1, 4])
    expected = []
    for row, true in zip(logits, n_steps, strict=True):
        going_on = row.sigmoid().cumprod(-1)
        target = torch.tensor([float(k < true) for k in range(1, 5)]).double()
        expected.append(binary_cross_entropy(going_on, target, reduction="sum"))
    torch.testing.assert_close(stopping_loss(logits, n_steps), torch.stack(expected))


@pytest.mark.parametrize("size", [30.0, 90.0, 300.0])
def test_a_certain_error_still_has_a_gradient(size):
    logits = torch.tensor([[size, size, -size, -size]], requires_grad=True)
    wrong = stopping_loss(logits, torch.tensor([1])) + stopping_loss(logits, torch.tensor([4]))
    assert wrong.isfinite().all()
    (gradient,) = torch.autograd.grad(wrong.sum(), logits)
    assert gradient.isfinite().all()
    # It should have stopped at the first step, and gone on at the third; the fourth is stopped.
    assert (gradient[0, [0, 2]].abs() > 0.1).all()


@pytest.mark.parametrize(
    ("going_on", "expected"),
    [
        ([0.4, 0.9, 0.9], 1),
        ([0.9, 0.4, 0.9], 2),
        ([0.9, 0.8, 0.1], 3),
        ([0.9, 0.9, 0.9], 3),  # it never stops: the last step counts
        ([0.7, 0.7, 0.9], 2),  # the product counts, not its last factor
    ],
)
def test_the_first_step_at_which_stopping_is_likelier_than_not(going_on, expected):
    assert n_steps_taken(torch.logit(torch.tensor([going_on]))).tolist() == [expected]
