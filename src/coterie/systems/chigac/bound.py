"""The lower bound of one step's log-likelihood, as a function of the variational parameters.

log w = log p(h, z, I) - log q(z, I), with one draw of the pioneer I. Inference strategies see
nothing of the model but this.

Shapes: B sets, A steps, N points; z (B, A, Z).
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import logsigmoid

from coterie.systems.chigac.posterior import Gaussian


@dataclass(frozen=True)
class Bound:
    """What the bound is made of.

    decode: membership logits of z (B, A, M, Z) -> (B, A, M, N), eq. 13; prior: p(z | I, ...);
    members: (B, A, N) bool, h; asked: (B, A, N) bool, the points that h decides on, which are all
    that are left except the pioneer; pioneer: (B, A), log p(I) - log q(I).
    """

    decode: Callable[[Tensor], Tensor]
    prior: Gaussian
    members: Tensor
    asked: Tensor
    pioneer: Tensor

    def log_likelihood(self, z: Tensor) -> Tensor:
        """log p(h | z, I, ...) under M representations: (B, A, M, Z) -> (B, A, M)."""
        logits = self.decode(z)
        sign = 2 * self.members.to(logits) - 1
        decided = logsigmoid(sign[:, :, None] * logits)
        return (decided * self.asked.to(logits)[:, :, None]).sum(-1)

    def elbo(self, posterior: Gaussian, noise: Tensor) -> Tensor:
        """The bound of eq. 8 with one draw of z and the exact divergence: (B, A)."""
        fit = self.log_likelihood(posterior.at(noise)[:, :, None])[..., 0]
        return self.pioneer + fit - posterior.divergence(self.prior)

    def log_weights(self, posterior: Gaussian, noise: Tensor) -> Tensor:
        """log w_m of M posteriors (B, A, M, Z), one draw of each: noise (B, A, M, Z) -> (B, A, M).

        The densities are those of the draws themselves, not their expectations.
        """
        z = posterior.at(noise)
        prior = self.prior.over(2).log_prob(z)
        return self.pioneer[..., None] + self.log_likelihood(z) + prior - posterior.log_prob(z)
