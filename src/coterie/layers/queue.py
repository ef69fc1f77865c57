"""A queue of embeddings: the negatives that a contrastive loss compares with (MoCo)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


class Queue(nn.Module):
    """V keys of E embeddings each; the oldest are replaced first.

    keys: (E, V, D), unit vectors, random at first; place: where the next keys go.
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
        """Put keys (B, E, D) in the place of the oldest, in place."""
        length = self.keys.shape[1]
        if len(keys) > length:
            raise ValueError(f"{len(keys)} keys at once do not fit a queue of {length}")
        index = (self.place + torch.arange(len(keys), device=keys.device)) % length
        self.keys.index_copy_(1, index, keys.transpose(0, 1).to(self.keys.dtype))
        self.place.add_(len(keys)).remainder_(length)
