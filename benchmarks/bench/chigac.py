"""CHiGac: the sets of its section 4.2, and how tight the bounds of the strategies are."""

import math
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from bench.sets import LabelledSet, Setting, unpad
from coterie import metrics
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureDraw, MixtureOfGaussians, of_cluster
from coterie.functional.em import Gaussians
from coterie.inference.loop import find_labels
from coterie.systems.chigac.inference import STRATEGIES
from coterie.systems.chigac.inference.protocol import Inner
from coterie.systems.chigac.lessons import Lesson
from coterie.systems.chigac.steps import CHiGac
from coterie.systems.protocol import require_labels

IMPORTANCE_SAMPLES = 64


@dataclass(frozen=True)
class ExactMixtures:
    """Mixtures of DAC's eq. 13 with exactly n_max points and k_max clusters, as in section 4.2.

    The paper says no more of its mixtures than these numbers.
    """

    n_max: int
    k_max: int

    def draw(self, n_sets: int, generator: Generator) -> MixtureDraw:
        """Sets and the mixtures they were drawn from."""
        plain = MixtureOfGaussians(self.n_max, self.k_max)
        shape = (n_sets, self.k_max, 2)
        share = torch.empty(shape[:2]).exponential_(generator=generator)
        log_weight = share.log().log_softmax(1)
        labels = torch.multinomial(log_weight.exp(), self.n_max, True, generator=generator)
        mean = plain.mean_scale * torch.randn(shape, generator=generator)
        spread = torch.randn(shape, generator=generator)
        log_scale = plain.log_scale_mean + plain.log_scale_spread * spread
        noise = torch.randn(n_sets, self.n_max, 2, generator=generator)
        points = of_cluster(mean, labels) + of_cluster(log_scale.exp(), labels) * noise
        batch = SetBatch(points, torch.ones_like(labels, dtype=torch.bool), labels)
        return MixtureDraw(batch, Gaussians(log_weight, mean, log_scale))


def exact_setting(n_points: int, n_clusters: int, name: str) -> Setting:
    """Sets of so many points and clusters, and their oracle."""
    prior = ExactMixtures(n_points, n_clusters)

    def draw(n_sets: int, generator: Generator) -> list[LabelledSet]:
        return unpad(*prior.draw(n_sets, generator))

    return Setting(prior, draw, 2 * n_clusters, name)


class Tightness(NamedTuple):
    """Of labelled sets, in nats a set: how probable a model makes their partitions.

    log_likelihood: by importance samples of the encoder's posterior, itself a lower bound; bound:
    that of the model's own strategy; elbo: that of amortized inference; reconstruction: the
    log-probability of the memberships under the encoder's posterior.
    """

    log_likelihood: float
    bound: float
    elbo: float
    reconstruction: float


def tightness(system: CHiGac, batch: SetBatch, seed: int = 0) -> Tightness:
    """The bounds of a model on labelled sets."""
    generator = Generator(batch.points.device).manual_seed(seed)
    n_clusters = int(require_labels(batch).max()) + 1
    config = system.config
    inner = Inner(config.inner_steps, config.inner_rate, generator, system.refine)
    with torch.no_grad():
        given = system.lesson_of(batch, n_clusters, generator)
        likelihood = _log_likelihood(given, inner)
        own = STRATEGIES[config.inference](given.bound, given.first, inner).generative
        elbo = STRATEGIES["ai"](given.bound, given.first, inner).generative
        z = given.first.at(inner.noise(given.first.mean))
        fit = given.bound.log_likelihood(z[:, :, None])[..., 0]
    return Tightness(*(_of_set(given, each) for each in (likelihood, own, elbo, fit)))


def bounds_of_one(system: CHiGac, batch: SetBatch, seed: int = 0) -> dict[str, float]:
    """The bounds of one network on labelled sets, in nats a set, by the name of the strategy.

    All are of the same pioneers and start from the same psi_0; "iai" has weights of its own.
    "log_likelihood": an estimate from importance samples.
    """
    generator = Generator(batch.points.device).manual_seed(seed)
    n_clusters = int(require_labels(batch).max()) + 1
    inner = Inner(system.config.inner_steps, system.config.inner_rate, generator)
    with torch.no_grad():
        given = system.lesson_of(batch, n_clusters, generator)
        found: dict[str, float] = {
            name: _of_set(given, strategy(given.bound, given.first, inner).generative)
            for name, strategy in STRATEGIES.items()
            if name != "iai"
        }
        return {**found, "log_likelihood": _of_set(given, _log_likelihood(given, inner))}


def _log_likelihood(given: Lesson, inner: Inner) -> Tensor:
    """Of each step by importance samples of the encoder's posterior: (B, A)."""
    drawn = given.first.over(2)
    shape = (*drawn.mean.shape[:2], IMPORTANCE_SAMPLES, drawn.mean.shape[-1])
    weights = given.bound.log_weights(drawn, inner.noise(drawn.mean.expand(shape)))
    return weights.logsumexp(2) - math.log(IMPORTANCE_SAMPLES)


def _of_set(given: Lesson, values: Tensor) -> float:
    """The sum over the steps of a set, averaged over the sets: (B, A)."""
    return float(torch.where(given.exists, values, 0.0).sum(1).mean())


def mean_accuracy(system: Any, batch: SetBatch, seed: int = 0) -> float:
    """ACC of the clusters that the loop finds, averaged over the sets."""
    generator = Generator(batch.points.device).manual_seed(seed)
    labels = find_labels(system, SetBatch(batch.points, batch.mask), generator=generator)
    truth = require_labels(batch)
    return fmean(
        metrics.accuracy(own[inside].cpu().numpy(), found[inside].cpu().numpy())
        for own, found, inside in zip(truth, labels, batch.mask, strict=True)
    )
