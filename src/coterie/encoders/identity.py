"""The encoder of items that are vectors already."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Identity:
    """Vectors as they are: (M, C) -> (M, C)."""

    width: int

    def __call__(self, items: Tensor, /) -> Tensor:
        """(M, C) -> (M, C), the same tensor."""
        if items.ndim != 2 or items.shape[1] != self.width:
            raise ValueError(
                f"items must be vectors of length {self.width}, got shape {tuple(items.shape)}"
            )
        return items
