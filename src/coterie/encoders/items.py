"""Items that are encoded on access."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.encoders.protocol import Encoder

CHUNK = 256


class Items(Protocol):
    """The items of a set (n, *item): an array, or anything that loads its rows on access."""

    def __len__(self) -> int:
        """The number of items."""

    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> NDArray:
        """Some of the items (m, *item)."""


@dataclass(frozen=True)
class EncodedItems:
    """The items of a set as the vectors (n, C) of an encoder, computed on access."""

    items: Items
    encoder: Encoder
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.items)

    @torch.no_grad()
    def __getitem__(self, rows: slice | NDArray[np.intp], /) -> NDArray[np.float32]:
        """Some of the vectors: (m, C)."""
        wanted = torch.from_numpy(np.ascontiguousarray(self.items[rows]))
        vectors = [self.encoder(part.to(self.device)) for part in wanted.split(CHUNK)]
        if not vectors:
            return np.empty((0, self.encoder.width), dtype=np.float32)
        return torch.cat(vectors).float().cpu().numpy()
