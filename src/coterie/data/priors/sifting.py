"""Sets whose points are chosen from a surplus of candidates."""

import torch
from torch import Tensor

from coterie.data.priors.draws import Drawn, Plan
from coterie.data.priors.placing import in_first_columns

SPARE = 3  # candidates for each point of the plan
FEWEST = 6  # clusters with fewer points are dropped


def sift(where: Tensor, label: Tensor, kept: Tensor, plan: Plan, columns: int) -> Drawn:
    """The first kept candidates, at most as many as planned, the padding last.

    where (B, M, 2), label (B, M), kept (B, M) bool.
    """
    kept = _of_shown_clusters(label, kept, plan)
    chosen = torch.argsort(~kept, dim=1, stable=True)[:, : plan.mask.shape[1]]
    valid = plan.mask & kept.gather(1, chosen)
    flat = where.gather(1, chosen[..., None].expand(-1, -1, 2))
    labels = torch.where(valid, label.gather(1, chosen), -1)
    return Drawn(in_first_columns(flat, columns), labels)


def _of_shown_clusters(label: Tensor, kept: Tensor, plan: Plan) -> Tensor:
    """The kept candidates (B, M) of clusters with enough points in the set, or of the largest."""
    share = plan.mask.sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp_min(1)
    count = torch.zeros_like(plan.exists, dtype=torch.long).scatter_add(1, label, kept.long())
    shown = count * share.clamp_max(1)
    enough = shown >= shown.amax(1, keepdim=True).clamp_max(FEWEST)
    return kept & enough.gather(1, label)
