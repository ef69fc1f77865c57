"""Mixing through landmarks: points of the set replace learnt references.

IntraCM mixes points through R learnt vectors, which must be divided among the clusters of a set.
Landmarks are points of the set and already lie in its clusters, for any number of clusters. A
block combines attention from the points to the landmarks with messages that random walks carry
among the landmarks, for example along a ring or the arm of a spiral.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from coterie.functional.attention import attention
from coterie.layers.mlp import Activation, mlp

CARRIED_A_SCALE = 16  # channels carried by the walks of each length
MISSING = -1e4  # a score with zero softmax weight


class LandmarkMixing(nn.Module):
    """Mixing in two halves as in IntraCM, linear in the number of points.

    Points hear a weighted mean of what is carried to the landmarks near them. The linear map of
    that mean is the mean of the map, so it is taken where there are fewer: at the landmarks.

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
        # The last channel of each head marks missing landmarks, because attention kernels without
        # a mask are several times as fast as those with one.
        # On the CPU even of a network without numbers: no file brings its values.
        last = [(i + 1) % (width // heads) == 0 for i in range(width)]
        flag = torch.tensor(last, device="cpu")
        self.register_buffer("is_flag", flag, persistent=False)

    def gather(self, landmarks: Tensor, there: Tensor, ends: Tensor) -> Tensor:
        """Keys, values and what points near a landmark hear of the walks: (B, L, 3 C).

        landmarks (B, L, C); there (B, L), False for missing landmarks of small sets; ends
        (B, M, L, L), transition probabilities of the walks of each length.
        """
        projected = self.tell(self.norm_points(landmarks))
        keys, values, sent = projected.tensor_split([self.width, 2 * self.width], -1)
        flags = torch.where(there, 0.0, MISSING).to(keys)[..., None]
        keys = torch.where(self.is_flag, flags, keys)
        sent = sent.unflatten(-1, (self.scales, -1)).transpose(1, 2)  # (B, M, L, c)
        carried = (ends @ sent).transpose(1, 2).flatten(2)
        heard = linear(carried, self.hear.weight[:, self.width :])
        return torch.cat([keys, values, heard], -1)

    def read(self, x: Tensor, slots: Tensor, near: Tensor) -> Tensor:
        """Pointwise: x (B, N, C), slots (B, L, 3 C), near (B, N, L) -> (B, N, C)."""
        queries = torch.where(self.is_flag, 1.0, self.ask(self.norm_points(x)))
        keys, values, heard = slots.chunk(3, -1)
        seen = attention(queries, keys, values, self.heads)
        x = x + linear(seen, self.hear.weight[:, : self.width], self.hear.bias) + near @ heard
        return x + self.mlp(self.norm_mlp(x))
