"""A batch of sets, the common input format of all networks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class SetBatch:
    """B sets of up to N items each.

    points: (B, N, *item), vectors (B, N, D) for the set networks, images (B, N, C, H, W) and the
    like before an encoder; mask: (B, N) bool, True for a valid item; labels: (B, N) int64, the true
    clusters numbered from zero, -1 for padding, or None if they are unknown.
    """

    points: Tensor
    mask: Tensor
    labels: Tensor | None = None

    def __post_init__(self) -> None:
        if self.points.ndim < 3:
            raise ValueError(
                "points must be (B, N, D), or (B, N, *item) for items of more axes, got shape"
                f" {tuple(self.points.shape)}"
            )
        for name, tensor in (("mask", self.mask), ("labels", self.labels)):
            if tensor is not None and tensor.shape != self.points.shape[:2]:
                raise ValueError(
                    f"{name} must be (B, N) = {tuple(self.points.shape[:2])}, "
                    f"got {tuple(tensor.shape)}"
                )
        if self.mask.dtype != torch.bool:
            raise ValueError(f"mask must be boolean, got {self.mask.dtype}")

    @classmethod
    def single(cls, points: Tensor) -> "SetBatch":
        """One set of valid items: (N, *item)."""
        mask = torch.ones(1, len(points), dtype=torch.bool, device=points.device)
        return cls(points[None], mask)

    @classmethod
    def padded(cls, sets: Sequence[Tensor]) -> "SetBatch":
        """Sets of vectors, (N_b, D) each, side by side."""
        longest = max(map(len, sets))
        points = sets[0].new_zeros(len(sets), longest, sets[0].shape[1])
        mask = torch.zeros(len(sets), longest, dtype=torch.bool, device=points.device)
        for number, each in enumerate(sets):
            points[number, : len(each)] = each
            mask[number, : len(each)] = True
        return cls(points, mask)

    def repeated(self, times: int) -> "SetBatch":
        """A single set as many, without labels and without a copy of its items."""
        parts = (self.points, self.mask)
        return SetBatch(*(part.expand(times, *part.shape[1:]) for part in parts))

    def to(self, device: torch.device | str) -> "SetBatch":
        """The same sets on another device."""
        labels = None if self.labels is None else self.labels.to(device)
        return SetBatch(self.points.to(device), self.mask.to(device), labels)

    def keep(self, mask: Tensor) -> "SetBatch":
        """The same sets with only the points of mask (B, N) valid."""
        return replace(self, mask=self.mask & mask)


@dataclass(frozen=True)
class Compaction:
    """The valid points of each set moved to the front, so that a step costs only what remains.

    index: (B, M), the original position of each point, None if nothing was moved; mask: (B, M); M
    is the largest number of valid points in any of the sets; length: N, the original number.
    """

    index: Tensor | None
    mask: Tensor
    length: int

    def take(self, values: Tensor) -> Tensor:
        """The values of the remaining points: (B, N, *item) -> (B, M, *item)."""
        if self.index is None:
            return values
        item = values.shape[2:]
        index = self.index.view(*self.index.shape, *(1 for _ in item))
        return values.gather(1, index.expand(-1, -1, *item))

    def scatter(self, values: Tensor, elsewhere: float = -torch.inf) -> Tensor:
        """Values (B, M) of valid points at their original positions: (B, N)."""
        values = torch.where(self.mask, values, elsewhere)
        if self.index is None:
            return values
        original = values.new_full((len(values), self.length), elsewhere)
        return original.scatter(1, self.index, values)

    def then(self, later: "Compaction") -> "Compaction":
        """The composition of this and a later compaction of its points (B, M)."""
        if self.index is None or later.index is None:
            index = self.index if later.index is None else later.index
        else:
            index = self.index.gather(1, later.index)
        return Compaction(index, later.mask, self.length)


def compact(mask: Tensor) -> Compaction:
    """Leave out the points where mask (B, N) is False; the order is kept."""
    longest = max(1, int(mask.sum(1).amax()))
    if longest == mask.shape[1]:
        return Compaction(None, mask, longest)
    index = torch.argsort(~mask, dim=1, stable=True)[:, :longest]
    return Compaction(index, mask.gather(1, index), mask.shape[1])
