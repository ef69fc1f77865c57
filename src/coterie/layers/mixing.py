"""IntraCM: points mixed through reference vectors by unrolled EM (AMCP, appendix B)."""

import math

import torch
from torch import Tensor, nn

from coterie.functional.attention import attention
from coterie.functional.mixing import (
    EStep,
    column_sum,
    kernel_scores,
    mixed_sum,
    mixing_means,
    mixing_weights,
)
from coterie.functional.reduce import all_points_sum, count_points
from coterie.layers.mlp import Activation, mlp


class IntraCM(nn.Module):
    """Intra-cluster mixing in two halves, linear in the number of points.

    `gather` runs T EM steps between the points' keys and R references; the resulting slots read
    the points' values and attend to one another. `read` maps the slots back to the points.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        references: int,
        em_steps: int,
        e_step: EStep,
        activation: Activation = "gelu",
    ) -> None:
        super().__init__()
        self.heads, self.em_steps, self.e_step = heads, em_steps, e_step
        head_width = width // heads
        self.references = nn.Parameter(torch.empty(heads, references, head_width).normal_())
        self.log_temperature = nn.Parameter(torch.full((heads, 1, 1), -0.25 * math.log(head_width)))
        if e_step != "column":
            self.reference_mass = nn.Parameter(torch.zeros(heads, references))
            self.log_prior_share = nn.Parameter(torch.full((heads, references, 1), -5.0))
        self.norm_points = nn.LayerNorm(width)
        self.key_value = nn.Linear(width, 2 * width)
        self.slot_in = nn.Linear(width + heads, width)
        self.norm_slot_in = nn.LayerNorm(width)
        self.norm_slots = nn.LayerNorm(width)
        self.slot_qkv = nn.Linear(width, 3 * width)
        self.slot_out = nn.Linear(width, width)
        self.slot_mlp = mlp([width, width, width], activation)
        self.norm_read = nn.LayerNorm(width)
        self.read_query = nn.Linear(width, width)
        self.read_key_value = nn.Linear(width, 2 * width)
        self.read_out = nn.Linear(width, width)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = mlp([width, 2 * width, width], activation)

    def gather(self, x: Tensor, mask: Tensor) -> Tensor:
        """Summarise the set in the references: x (B, N, C), mask (B, N) -> slots (B, R, C)."""
        keys, values = self.key_value(self.norm_points(x)).chunk(2, -1)
        keys, values = self._split(keys), self._split(values)  # (B, H, N, c)
        n_points = count_points(mask).clamp_min(1).to(x.dtype)[:, None, None, None]
        references = self.references.expand(len(x), -1, -1, -1)  # (B, H, R, c)
        if self.e_step == "column":
            seen, share = self._mix_columns(references, keys, values, mask, n_points)
        else:
            seen, share = self._mix(references, keys, values, mask, n_points)
        slots = seen.transpose(1, 2).flatten(2)  # (B, R, C)
        share = share.clamp_min(1e-6).log().transpose(1, 2)  # (B, R, H)
        slots = self.norm_slot_in(self.slot_in(torch.cat([slots, share], -1)))
        queries, keys, values = self.slot_qkv(self.norm_slots(slots)).chunk(3, -1)
        slots = slots + self.slot_out(attention(queries, keys, values, self.heads))
        return slots + self.slot_mlp(slots)

    def read(self, x: Tensor, slots: Tensor) -> Tensor:
        """Pointwise: x (B, N, C), slots (B, R, C) -> (B, N, C)."""
        keys, values = self.read_key_value(self.norm_read(slots)).chunk(2, -1)
        queries = self.read_query(self.norm_points(x))
        x = x + self.read_out(attention(queries, keys, values, self.heads))
        return x + self.mlp(self.norm_mlp(x))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, N, C), mask (B, N) -> (B, N, C)."""
        return self.read(x, self.gather(x, mask))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _mix_columns(
        self, references: Tensor, keys: Tensor, values: Tensor, mask: Tensor, n_points: Tensor
    ) -> tuple[Tensor, Tensor]:
        """T EM steps in which every reference has the mass of one point, so eq. 25 has no prior.

        Returns the references' sums of the values (B, H, R, c) and their shares (B, H, R).
        """
        temperature = self.log_temperature.exp()
        for _ in range(self.em_steps):
            references = column_sum(references * temperature, keys, keys, mask)
        seen = column_sum(references * temperature, keys, values, mask)
        return seen, (1 / n_points[..., 0]).expand(seen.shape[:-1])

    def _mix(
        self, references: Tensor, keys: Tensor, values: Tensor, mask: Tensor, n_points: Tensor
    ) -> tuple[Tensor, Tensor]:
        """T EM steps in which points are distributed over references with a prior."""
        temperature = self.log_temperature.exp()
        log_mass = self.reference_mass.log_softmax(-1)
        per_head = mask[:, None, :].expand(-1, self.heads, -1)  # (B, H, N)

        def weigh(references: Tensor) -> Tensor:
            scores = kernel_scores(keys, references, temperature)
            return mixing_weights(scores, per_head, self.e_step, log_mass=log_mass)

        weights = weigh(references)
        for _ in range(self.em_steps):
            references = mixing_means(
                keys, weights, self.references, self.log_prior_share.exp(), n_points
            )
            weights = weigh(references)
        mass = all_points_sum(weights.sum(-2))  # (B, H, R)
        seen = mixed_sum(weights, values) / mass[..., None].clamp_min(1e-6)
        return seen, mass / n_points[..., 0]
