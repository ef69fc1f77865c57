import math

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from coterie.functional.contrastive import (
    elbo_at,
    expert_log_probabilities,
    gate_log_probabilities,
    info_nce,
    mixture_bound,
    uniform_gate,
)

B, K, V, D = 5, 4, 11, 6


def unit(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(*shape, D, generator=generator, dtype=torch.float64), dim=-1)


STUDENT, TEACHER, QUEUE = unit(B, K, seed=1), unit(B, K, seed=2), unit(K, V, seed=3)
PROTOTYPES, GATE = unit(K, seed=4), unit(K, seed=5)
GATING = unit(B, seed=6)


def test_info_nce_is_the_cross_entropy_of_the_right_key():
    query, key, queue = unit(B, seed=7), unit(B, seed=8), unit(V, seed=9)
    logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.T], 1) / 0.3
    expected = cross_entropy(logits, torch.zeros(B, dtype=torch.int64), reduction="none")
    torch.testing.assert_close(info_nce(query, key, queue, 0.3), expected)


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_experts_are_a_softmax_over_the_image_and_the_queue(temperature):
    """Eqs. 5, 6 and 9, entry by entry."""
    found = expert_log_probabilities(STUDENT, TEACHER, PROTOTYPES, QUEUE, temperature)
    for n in range(B):
        for k in range(K):
            reading = STUDENT[n, k] + PROTOTYPES[k]
            own = math.exp(TEACHER[n, k] @ reading / temperature)
            others = sum(math.exp(QUEUE[k, i] @ reading / temperature) for i in range(V))
            assert float(found[n, k]) == pytest.approx(math.log(own / (own + others)))


def test_a_shared_head_serves_every_expert():
    """A4: one embedding, repeated for K experts."""
    once = expert_log_probabilities(STUDENT[:, :1], TEACHER[:, :1], PROTOTYPES, QUEUE[:1], 1.0)
    many = expert_log_probabilities(
        STUDENT[:, :1].expand(-1, K, -1),
        TEACHER[:, :1].expand(-1, K, -1),
        PROTOTYPES,
        QUEUE[:1].expand(K, -1, -1),
        1.0,
    )
    torch.testing.assert_close(once, many)


def test_the_gate_is_a_softmax_over_cosines():
    expected = torch.softmax(GATING @ GATE.T / 0.5, 1).log()
    torch.testing.assert_close(gate_log_probabilities(GATING, GATE, 0.5), expected)


def test_the_bound_at_its_own_posterior_is_the_elbo_of_the_paper():
    gate = gate_log_probabilities(GATING, GATE, 1.0)
    experts = expert_log_probabilities(STUDENT, TEACHER, PROTOTYPES, QUEUE, 1.0)
    bound = mixture_bound(gate, experts)
    product = gate.exp() * experts.exp()
    torch.testing.assert_close(bound.posterior, product / product.sum(1, keepdim=True))  # eq. 10
    torch.testing.assert_close(bound.elbo, elbo_at(bound.posterior, gate, experts))  # eq. 11
    other = torch.full_like(gate, 1 / K)
    assert (elbo_at(other, gate, experts) < bound.elbo).all()


def test_gradients_do_not_depend_on_whether_the_posterior_is_detached():
    logits = torch.randn(B, K, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    experts = expert_log_probabilities(STUDENT, TEACHER, PROTOTYPES, QUEUE, 1.0)
    gradients = []
    for form in ("tight", "attached", "detached"):
        leaf = logits.clone().requires_grad_()
        gate = leaf.log_softmax(1)
        bound = mixture_bound(gate, experts)
        if form == "tight":
            elbo = bound.elbo
        else:
            posterior = bound.posterior if form == "attached" else bound.posterior.detach()
            elbo = elbo_at(posterior, gate, experts)
        gradients.append(torch.autograd.grad(elbo.sum(), leaf)[0])
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(gradients[0], gradients[2])


def test_theorem_3_with_a_uniform_gate_one_head_and_no_class_term_the_loss_is_info_nce():
    student, teacher, queue = STUDENT[:, :1], TEACHER[:, :1], QUEUE[:1]
    experts = expert_log_probabilities(student, teacher, None, queue, 0.7)
    bound = mixture_bound(uniform_gate(B, K, like=experts), experts.expand(-1, K))
    expected = info_nce(student[:, 0], teacher[:, 0], queue[0], 0.7)
    torch.testing.assert_close(-bound.elbo, expected)
    torch.testing.assert_close(bound.posterior, torch.full_like(bound.posterior, 1 / K))  # lemma 1
