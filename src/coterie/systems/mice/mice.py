"""MiCE: experts for instance discrimination, and a gate that assigns the images to them."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import normalize

from coterie.data.batch import SetBatch
from coterie.functional.contrastive import (
    Bound,
    expert_log_probabilities,
    gate_log_probabilities,
    mixture_bound,
    uniform_gate,
)
from coterie.functional.spherical import max_mahalanobis_centres, redirected, sum_by_label
from coterie.layers.queue import Queue
from coterie.systems.learning import Learnt
from coterie.systems.mice.config import MiCEConfig
from coterie.systems.mice.pair import StudentAndTeacher, use_sgd
from coterie.systems.mice.views import in_float32, views_of
from coterie.systems.traits import Traits


class Taught(NamedTuple):
    """A step's output for the hooks: keys (B, E, D), and their sums over each cluster (K, D)."""

    keys: Tensor
    sums: Tensor


class Clustered(NamedTuple):
    """MiCE's output for M images.

    posterior: (M, K); embeddings: (M, D), unit vectors of the gate; features: (M, F), of the
    backbone.
    """

    posterior: Tensor
    embeddings: Tensor
    features: Tensor


class Brightness(NamedTuple):
    """The mean and the standard deviation of pixels in [0, 1], over all channels."""

    mean: float
    std: float


class MiCE(nn.Module):
    """MiCE on one collection of images.

    A batch is one set of B images with three views each, for the teacher, the student and the gate:
    points (1, B, 3, C, H, W), in [0, 1]. E is K, or 1 with a single head.
    """

    name: ClassVar[str] = "mice"
    n_views: ClassVar[int] = 3

    sums: Tensor

    def __init__(self, config: MiCEConfig) -> None:
        super().__init__()
        self.config = config
        n_clusters, width = config.n_clusters, config.width
        n_experts = 1 if config.single_head else n_clusters
        self.pair = StudentAndTeacher(config, n_heads=n_experts + 1)  # the gate's head is the last
        self.queue = Queue(n_experts, config.queue, width)
        self.prototypes = nn.Parameter(  # mu
            normalize(torch.randn(n_clusters, width), dim=-1),
            requires_grad=config.prototype_gradient and config.class_term,
        )
        self.gating_prototypes = nn.Parameter(  # omega
            _gating_prototypes(config), requires_grad=config.gating_prototypes == "learnt"
        )
        self.register_buffer("sums", torch.zeros(n_clusters, width))  # over this epoch, eq. 13

    @property
    def traits(self) -> Traits:
        return self.config.traits

    @property
    def brightness(self) -> Brightness:
        """Of the images in training."""
        config = self.config
        return Brightness(*(sum(each) / len(each) for each in (config.mean, config.std)))

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        return ((self, "student_features"), (self, "teacher_features"))

    def optimizers(self, config: Any) -> Sequence[torch.optim.Optimizer]:
        """SGD with momentum for the networks and the prototypes (appendix D)."""
        return (use_sgd(self, self.config, config.learning_rate),)

    def student_features(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, F)."""
        return self.pair.student.features(images)

    def teacher_features(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, F), without gradients."""
        with torch.no_grad():
            return self.pair.teacher.features(images)

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Learnt:
        """The negative ELBO (eq. 11), and the step's update of the queue and the prototypes.

        Both views of the student share one pass and its batch statistics; the authors' code makes
        two passes.
        """
        views = views_of(batch, self.n_views)
        taught = self.teacher_features(views[0])
        for_gate = views[2:] if self.config.gate == "input" else ()
        found = self.student_features(torch.cat([views[1], *for_gate]))
        n_images = len(taught)
        with in_float32(found):
            keys = self.pair.teacher.heads(taught, _EXPERTS)
            student = self.pair.student.heads(found[:n_images], _EXPERTS)
            gating = self.pair.student.heads(found[n_images:], _GATE)[:, 0]
            bound = self.bound(student, keys, gating)
            sums = self._sums_of(keys.detach(), bound.posterior.argmax(1))
        return Learnt(-bound.elbo.mean(), Taught(keys, sums))

    def bound(self, student: Tensor, keys: Tensor, gating: Tensor) -> Bound:
        """ELBO and posterior (eqs. 4 to 11): student, keys (B, E, D), gating (B, D)."""
        config = self.config
        prototypes = normalize(self.prototypes, dim=-1) if config.class_term else None
        experts = expert_log_probabilities(
            student, keys, prototypes, self.queue.keys, config.temperature
        )
        if config.gate == "uniform":
            gate = uniform_gate(len(experts), config.n_clusters, like=experts)
        else:
            omega = normalize(self.gating_prototypes, dim=-1)
            gate = gate_log_probabilities(gating, omega, config.gate_temperature)
        return mixture_bound(gate, experts)

    def _sums_of(self, keys: Tensor, labels: Tensor) -> Tensor:
        """Keys (B, E, D) summed over the images of each cluster, under its own expert: (K, D)."""
        expert = torch.zeros_like(labels) if self.config.single_head else labels
        own = keys[torch.arange(len(keys), device=keys.device), expert]
        return sum_by_label(own, labels, self.config.n_clusters)

    def after_step(self, step: int, taught: Taught) -> None:
        """Update the teacher and the queue, and accumulate the sums of eq. 13."""
        self.pair.average_teacher(step)
        self.queue.enqueue(taught.keys)
        self.sums.add_(taught.sums)

    def after_epoch(self, epoch: int) -> None:
        """Update the experts' prototypes from the epoch."""
        if self.config.analytical_update:
            self.update_prototypes()
        self.sums.zero_()

    @torch.no_grad()
    def update_prototypes(self) -> None:
        """The analytical update (eq. 13); an empty cluster keeps its prototype."""
        self.prototypes.copy_(redirected(self.prototypes, self.sums))

    @torch.no_grad()
    def read(self, images: Tensor) -> Clustered:
        """Posterior and embeddings of images (M, C, H, W), in [0, 1]; no state is changed.

        The teacher also replaces the student: as its moving average it is less noisy while learning
        rates are high, and equivalent once they are low.
        """
        features = self.teacher_features(images)
        with in_float32(features):
            embeddings = self.pair.teacher.heads(features)
            experts, gating = embeddings[:, _EXPERTS], embeddings[:, -1]
            bound = self.bound(experts, experts, gating)
        return Clustered(bound.posterior, gating, features)


_EXPERTS, _GATE = slice(None, -1), slice(-1, None)


def _gating_prototypes(config: MiCEConfig) -> Tensor:
    if config.gating_prototypes == "random":
        uniform = torch.rand(config.n_clusters, config.width) * 2 - 1
        return normalize(uniform, dim=-1)
    return max_mahalanobis_centres(config.n_clusters, config.width).float()
