"""The blocks of the Set Transformer (DAC, eq. 1-2, and eq. 10 for a growing number of seeds).

An induced block has two halves: `gather` summarises the set in a few slots, `read` maps the slots
back to the points. With stored slots, new points are read exactly as the fitted ones were.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from coterie.functional.attention import attention


class MAB(nn.Module):
    """Multihead attention block, eq. 1: a set X attends to a set Y.

    H = norm(X W + rFF(attention(X, Y))), out = norm(H + rFF(H)). The layer normalisation is the
    Set Transformer's option; the queries are the residual, so X may have another width than H.
    """

    def __init__(self, query_width: int, key_width: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(query_width, width)
        self.key_value = nn.Linear(key_width, 2 * width)
        self.out = nn.Linear(width, width)
        self.feed_forward = nn.Linear(width, width)
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feed_forward = nn.LayerNorm(width)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, Q, Cq), y (B, N, Ck), mask (B, N) over y, or (B, Q, N) -> (B, Q, C)."""
        queries = self.query(x)
        keys, values = self.key_value(y).chunk(2, -1)
        mixed = attention(queries, keys, values, self.heads, mask)
        hidden = self.norm_attention(queries + self.out(mixed))
        return self.norm_feed_forward(hidden + relu(self.feed_forward(hidden)))


class AnchorBlock(MAB):
    """MAB(X, a) for A single anchors side by side (DAC, eq. 8).

    With one key the attention is its value whatever the query: the same vector is added to every
    point, and the points are compared with the anchor by the feed-forward layer alone. `extra`,
    where there is any, is added before it.
    """

    def forward(self, x: Tensor, anchors: Tensor, extra: Tensor | None = None) -> Tensor:
        """x (B, N, Cq), anchors (B, A, Ck), extra (B, A, N, C) -> (B, A, N, C)."""
        values = self.key_value(anchors).chunk(2, -1)[1]
        hidden = self.query(x)[:, None] + self.out(values)[:, :, None]
        if extra is not None:
            hidden = hidden + extra
        hidden = self.norm_attention(hidden)
        return self.norm_feed_forward(hidden + relu(self.feed_forward(hidden)))


class SAB(nn.Module):
    """Self-attention block: MAB(X, X), quadratic in the number of elements."""

    def __init__(self, in_width: int, width: int, heads: int) -> None:
        super().__init__()
        self.block = MAB(in_width, in_width, width, heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, N, Cin), mask (B, N) -> (B, N, C)."""
        return self.block(x, x, mask)


class PMA(nn.Module):
    """Pooling by multihead attention: MAB(S, X) with R learnt seeds S."""

    def __init__(self, in_width: int, width: int, heads: int, seeds: int) -> None:
        super().__init__()
        self.seeds = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, seeds, width)))
        self.block = MAB(width, in_width, width, heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, N, Cin), mask (B, N) -> (B, R, C)."""
        return self.block(self.seeds.expand(len(x), -1, -1), x, mask)

    def of_groups(self, x: Tensor, groups: Tensor) -> Tensor:
        """The same of G groups of points of each set, side by side.

        x (B, N, Cin), groups (B, G, N) bool -> (B, G, R, C).
        """
        n_seeds, n_groups = self.seeds.shape[1], groups.shape[1]
        seeds = self.seeds.repeat(1, n_groups, 1).expand(len(x), -1, -1)
        pooled: Tensor = self.block(seeds, x, groups.repeat_interleave(n_seeds, 1))
        return pooled.unflatten(1, (n_groups, n_seeds))


class AdaptivePMA(nn.Module):
    """aPMA, eq. 10: MAB([s_1 ... s_k], X) with seeds that grow, s_j = PMA_1([s_1 ... s_{j-1}]).

    The seeds do not depend on X, and a row of the result only on its own seed: the result for k is
    the first k rows of that for any larger number.
    """

    def __init__(self, in_width: int, width: int, heads: int) -> None:
        super().__init__()
        self.first = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, 1, width)))
        self.grow = PMA(width, width, heads, 1)
        self.block = MAB(width, in_width, width, heads)

    def seeds(self, k: int) -> Tensor:
        """The first k seeds: (1, k, C)."""
        seeds: Tensor = self.first
        for _ in range(k - 1):
            seeds = torch.cat([seeds, self.grow(seeds)], 1)
        return seeds

    def forward(self, x: Tensor, k: int, mask: Tensor | None = None) -> Tensor:
        """x (B, N, Cin), mask (B, N) -> (B, k, C)."""
        return self.block(self.seeds(k).expand(len(x), -1, -1), x, mask)


class ISAB(nn.Module):
    """Induced self-attention block, eq. 2: MAB(X, MAB(I, X)), linear in the number of points."""

    def __init__(self, in_width: int, width: int, heads: int, slots: int) -> None:
        super().__init__()
        self.pool = PMA(in_width, width, heads, slots)
        self.block = MAB(in_width, width, width, heads)

    def gather(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Summarise the set in the inducing points: x (B, N, Cin), mask (B, N) -> (B, R, C)."""
        return self.pool(x, mask)

    def read(self, x: Tensor, slots: Tensor) -> Tensor:
        """Pointwise: x (B, N, Cin), slots (B, R, C) -> (B, N, C)."""
        return self.block(x, slots)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, N, Cin), mask (B, N) -> (B, N, C)."""
        return self.read(x, self.gather(x, mask))
