"""Split a batch into the views that the networks read."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor

from coterie.data.batch import SetBatch


def views_of(batch: SetBatch, n_views: int) -> tuple[Tensor, ...]:
    """The views of the images, each (M, C, H, W): points are (B, N, n_views, C, H, W), M is B N.

    Images are independent of each other here, so sets are concatenated; all must be valid.
    """
    points = batch.points
    if points.ndim != 6 or points.shape[2] != n_views:
        raise ValueError(
            f"points must be (B, N, {n_views}, C, H, W), {n_views} views of each image, got shape"
            f" {tuple(points.shape)}"
        )
    return points.flatten(0, 1).unbind(1)


def in_float32(like: Tensor) -> AbstractContextManager[None]:
    """Disable autocast: embeddings and their normaliser need more precision than bfloat16."""
    return torch.autocast(like.device.type, enabled=False)
