"""Encoders: what turns the items of a set, such as images, into vectors before the loop."""

from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from coterie.data.batch import SetBatch


class Encoder(Protocol):
    """A map of each item alone: nothing of an item's vector depends on the items beside it.

    So sets may be cut into chunks, and new items are encoded as those of training were. An encoder
    with batch statistics keeps to this in evaluation mode.
    """

    @property
    def width(self) -> int:
        """C, the length of the vectors."""

    def __call__(self, items: Tensor, /) -> Tensor:
        """(M, *item) -> (M, C)."""


def encode_sets(encoder: Encoder, batch: SetBatch, *, chunk: int | None = None) -> SetBatch:
    """The same sets as vectors: points (B, N, *item) -> (B, N, C); mask and labels stay.

    chunk: how many items to encode at once, all of them by default.
    """
    items = batch.points.flatten(0, 1)  # (B N, *item)
    parts = items.split(len(items) if chunk is None else chunk)
    vectors = torch.cat([encoder(part) for part in parts])
    if vectors.shape != (len(items), encoder.width):
        raise ValueError(
            f"the encoder must give (M, C) = {(len(items), encoder.width)}, got"
            f" {tuple(vectors.shape)}"
        )
    return replace(batch, points=vectors.view(*batch.mask.shape, encoder.width))
