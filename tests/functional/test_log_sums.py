import pytest
import torch
from torch.autograd import gradcheck

from coterie.functional import log_sums as module
from coterie.functional.log_sums import log_sums

GENERATOR = torch.Generator().manual_seed(0)
KEYS = torch.randn(3, 40, 6, generator=GENERATOR, dtype=torch.float64)
QUERIES = torch.randn(3, 5, 6, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_log_sums_are_those_of_the_products(temperature):
    expected = (QUERIES @ KEYS.mT / temperature).exp().sum(-1).log()
    torch.testing.assert_close(log_sums(QUERIES, KEYS, temperature), expected)


def test_the_gradient_is_that_of_finite_differences():
    queries = QUERIES.clone().requires_grad_()
    assert gradcheck(lambda each: log_sums(each, KEYS, 0.7), queries)


def test_without_fused_attention_they_are_the_same(monkeypatch):
    fused = log_sums(QUERIES, KEYS, 0.7)
    monkeypatch.setattr(module, "_has_fused_attention", lambda queries: False)
    torch.testing.assert_close(log_sums(QUERIES, KEYS, 0.7), fused)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("width", [6, 128, 300])
def test_on_a_gpu_they_are_right_to_half_precision(width):
    keys, queries = (
        torch.nn.functional.normalize(torch.randn(3, n, width, generator=GENERATOR), dim=-1)
        for n in (2000, 5)
    )
    queries = queries.cuda().requires_grad_()
    found = log_sums(queries, keys.cuda(), 1.0)
    (gradient,) = torch.autograd.grad(found.sum(), queries)
    exact = queries.detach().cpu().double().requires_grad_()
    expected = (exact @ keys.double().mT).logsumexp(-1)
    (slope,) = torch.autograd.grad(expected.sum(), exact)
    torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient.cpu().double(), slope, rtol=1e-2, atol=1e-3)
