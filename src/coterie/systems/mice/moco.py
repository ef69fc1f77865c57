"""MoCo: embeddings by instance discrimination, for spherical k-means afterwards (He et al. 2020).

It equals MiCE with a uniform gate, one head and no class-level term (MiCE, theorem 3), and saves
one pass of the student.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Generator, Tensor, nn

from coterie.data.batch import SetBatch
from coterie.functional.contrastive import info_nce
from coterie.layers.queue import Queue
from coterie.systems.learning import Learnt
from coterie.systems.mice.config import MoCoConfig
from coterie.systems.mice.pair import StudentAndTeacher, use_sgd
from coterie.systems.mice.views import in_float32, views_of
from coterie.systems.traits import Traits


class Embedded(NamedTuple):
    """MoCo's output for M images: unit embeddings (M, D), features of the backbone (M, F)."""

    embeddings: Tensor
    features: Tensor


class MoCo(nn.Module):
    """MoCo on one collection of images.

    A batch is one set of B images with two views each: points (1, B, 2, C, H, W), in [0, 1].
    """

    name: ClassVar[str] = "moco"
    n_views: ClassVar[int] = 2

    def __init__(self, config: MoCoConfig) -> None:
        super().__init__()
        self.config = config
        self.pair = StudentAndTeacher(config, n_heads=1)
        self.queue = Queue(1, config.queue, config.width)

    @property
    def traits(self) -> Traits:
        return self.config.traits

    @property
    def regions(self) -> tuple[tuple[Any, str], ...]:
        return ((self, "student_features"), (self, "teacher_features"))

    def optimizers(self, config: Any) -> Sequence[torch.optim.Optimizer]:
        """SGD with momentum, as in the paper."""
        return (use_sgd(self, self.config, config.learning_rate),)

    def student_features(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, F)."""
        return self.pair.student.features(images)

    def teacher_features(self, images: Tensor) -> Tensor:
        """(M, C, H, W) -> (M, F), without gradients."""
        with torch.no_grad():
            return self.pair.teacher.features(images)

    def loss(self, batch: SetBatch, generator: Generator | None = None) -> Learnt:
        """InfoNCE (eq. 2), and the teacher's embeddings (B, 1, D) for the queue."""
        views = views_of(batch, self.n_views)
        taught = self.teacher_features(views[0])
        found = self.student_features(views[1])
        with in_float32(found):
            keys = self.pair.teacher.heads(taught)  # (B, 1, D)
            query = self.pair.student.heads(found)[:, 0]
            losses = info_nce(query, keys[:, 0], self.queue.keys[0], self.config.temperature)
        return Learnt(losses.mean(), keys)

    def after_step(self, step: int, keys: Tensor) -> None:
        """Update the teacher and the queue."""
        self.pair.average_teacher(step)
        self.queue.enqueue(keys)

    @torch.no_grad()
    def read(self, images: Tensor) -> Embedded:
        """The teacher's embeddings of images (M, C, H, W), in [0, 1]; no state is changed."""
        features = self.teacher_features(images)
        with in_float32(features):
            return Embedded(self.pair.teacher.heads(features)[:, 0], features)
