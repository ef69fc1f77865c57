"""Mixing through landmarks: some points of the set take the place of learnt references.

IntraCM mixes points through R learnt vectors, which have to share out the clusters of a set among
them. Landmarks are points of the set and lie in its clusters already, however many there are. A
block is attention from the points to the landmarks, and beside it what walks among the landmarks
carry along: the same message, spread over a ring or the arm of a spiral.
"""

import torch
from torch import Tensor, nn

from coterie.functional.attention import attention
from coterie.layers.mlp import Activation, mlp

CARRIED_A_SCALE = 16  # channels that walks of each length carry
MISSING = -1e4  # a score that no softmax hears


class LandmarkMixing(nn.Module):
    """Mixing in two halves as in IntraCM, linear in the number of points.

    Shapes: B sets of N points, L landmarks, C channels, M lengths of walks.
    """

    is_flag: Tensor

    def __init__(
        self, width: int, heads: int, scales: int, activation: Activation = "gelu"
    ) -> None:
        super().__init__()
        self.width, self.heads, self.scales = width, heads, scales
        carried = scales * CARRIED_A_SCALE
        self.norm_points = nn.LayerNorm(width)
        self.tell = nn.Linear(width, 2 * width + carried)
        self.ask = nn.Linear(width, width)
        self.hear = nn.Linear(width + carried, width)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = mlp([width, 2 * width, width], activation)
        # The last channel of each head says which landmarks are missing: kernels of attention that
        # take no mask are several times as fast as those that do.
        flag = torch.arange(width) % (width // heads) == width // heads - 1
        self.register_buffer("is_flag", flag, persistent=False)

    def gather(self, landmarks: Tensor, there: Tensor, ends: Tensor) -> Tensor:
        """What the landmarks have to tell: keys, values, and what walks carry to each (B, L, E).

        landmarks (B, L, C); there (B, L), False where a set is too small to have them; ends
        (B, M, L, L), from where to where walks of each length lead.
        """
        told = self.tell(self.norm_points(landmarks))
        keys, values, sent = told.tensor_split([self.width, 2 * self.width], -1)
        flags = torch.where(there, 0.0, MISSING).to(keys)[..., None]
        keys = torch.where(self.is_flag, flags, keys)
        sent = sent.unflatten(-1, (self.scales, -1)).transpose(1, 2)  # (B, M, L, c)
        carried = (ends @ sent).transpose(1, 2).flatten(2)
        return torch.cat([keys, values, carried], -1)

    def read(self, x: Tensor, slots: Tensor, near: Tensor) -> Tensor:
        """Point by point: x (B, N, C), slots (B, L, E), near (B, N, L) -> (B, N, C)."""
        queries = torch.where(self.is_flag, 1.0, self.ask(self.norm_points(x)))
        keys, values = slots[..., : 2 * self.width].chunk(2, -1)
        seen = attention(queries, keys, values, self.heads)
        carried = near @ slots[..., 2 * self.width :]
        x = x + self.hear(torch.cat([seen, carried], -1))
        return x + self.mlp(self.norm_mlp(x))
