import pytest
import torch
from torch import nn

from coterie.functional.attention import attention

MASK = torch.tensor([[True, True, False, True, False], [False, True, True, True, True]])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return draw(2, 3, 8), draw(2, 5, 8, seed=1), draw(2, 5, 8, seed=2)


def by_loop(queries, keys, values, heads, mask):
    """One query, one head, one softmax at a time."""
    out = torch.empty_like(queries)
    size = queries.shape[-1] // heads
    for b, row in enumerate(queries):
        valid = mask[b]
        for q, query in enumerate(row):
            for h in range(heads):
                part = slice(h * size, (h + 1) * size)
                score = keys[b, valid, part] @ query[part] / size**0.5
                out[b, q, part] = score.softmax(0) @ values[b, valid, part]
    return out


@pytest.mark.parametrize("heads", [1, 2, 8])
def test_agrees_with_a_loop_of_softmaxes(heads):
    everything = torch.ones_like(MASK)
    expected = by_loop(*inputs(), heads, everything)
    torch.testing.assert_close(attention(*inputs(), heads), expected)
    torch.testing.assert_close(attention(*inputs(), heads, everything), expected)


@pytest.mark.parametrize("heads", [1, 2, 8])
def test_masked_points_are_not_seen(heads):
    expected = by_loop(*inputs(), heads, MASK)
    torch.testing.assert_close(attention(*inputs(), heads, MASK), expected)


def test_agrees_with_torch():
    module = nn.MultiheadAttention(8, 4, bias=False, batch_first=True, dtype=torch.float64)
    identity = torch.eye(8, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(identity.repeat(3, 1))
        module.out_proj.weight.copy_(identity)
        expected, _ = module(*inputs(), key_padding_mask=~MASK)
    torch.testing.assert_close(attention(*inputs(), 4, MASK), expected)


def test_an_empty_set_is_finite_and_leaves_its_companions_alone():
    mask = torch.stack([MASK[0], torch.zeros(5, dtype=torch.bool)])
    queries, keys, values = (x.requires_grad_() for x in inputs())
    mixed = attention(queries, keys, values, 2, mask)
    torch.testing.assert_close(mixed[0], attention(queries, keys, values, 2, MASK)[0])
    assert mixed.isfinite().all()
    mixed[0].sum().backward()
    assert all(x.grad.isfinite().all() for x in (queries, keys, values))
    assert (keys.grad[1] == 0).all()


def test_gradient_is_exact():
    leaves = [x.requires_grad_() for x in inputs()]
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, 2, MASK), leaves)
