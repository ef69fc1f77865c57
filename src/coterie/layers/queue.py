"""A queue of embeddings: the negatives of a contrastive loss (MoCo)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


class Queue(nn.Module):
    """V keys of E embeddings each; the oldest are replaced first.

    keys: (E, V, D), unit vectors, random at first; place: the position of the next keys.
    """

    keys: Tensor
    place: Tensor

    def __init__(self, n_embeddings: int, length: int, width: int) -> None:
        super().__init__()
        keys = torch.randn(n_embeddings, length, width)
        self.register_buffer("keys", normalize(keys, dim=-1))
        self.register_buffer("place", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def enqueue(self, keys: Tensor) -> None:
        """Replace the oldest keys by keys (B, E, D), in place."""
        length = self.keys.shape[1]
        if len(keys) > length:
            raise ValueError(f"{len(keys)} keys at once do not fit a queue of {length}")
        index = (self.place + torch.arange(len(keys), device=keys.device)) % length
        self.keys.index_copy_(1, index, keys.transpose(0, 1).to(self.keys.dtype))
        self.place.add_(len(keys)).remainder_(length)
