"""When to stop: a chain of decisions to go on (DAC, eq. 11-12; after Graves 2016).

After step k the chain goes on with probability c_k = v_1 ... v_k = 1 - s_k, so once it has stopped
it stays stopped. All of it is computed from the logits of v and in the log domain: a product of
sigmoids close to one or to zero has no gradient left.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad


def log_going_on(logits: Tensor) -> Tensor:
    """log c_k, that the chain goes on after step k: logits of v (..., K) -> (..., K)."""
    return logsigmoid(logits).cumsum(-1)


def log_stopped(logits: Tensor) -> Tensor:
    """log s_k = log(1 - c_k), that it has stopped at step k or before: (..., K) -> (..., K).

    The sum over j <= k of c_{j-1} (1 - v_j), which is stable where 1 - c_k is not.
    """
    before = pad(log_going_on(logits)[..., :-1], (1, 0))
    stopped_at = (before + logsigmoid(-logits))[..., None, :]  # (..., 1, K)
    n_steps = logits.shape[-1]
    earlier = torch.ones(n_steps, n_steps, dtype=torch.bool, device=logits.device).tril()
    return torch.where(earlier, stopped_at, -torch.inf).logsumexp(-1)


def stopping_loss(logits: Tensor, n_steps: Tensor) -> Tensor:
    """The sum over k of BCE(c_k, [k < n_steps]), eq. 12: (B, K), (B,) -> (B,)."""
    step = torch.arange(1, logits.shape[-1] + 1, device=logits.device)
    goes_on = step < n_steps[:, None]
    return -torch.where(goes_on, log_going_on(logits), log_stopped(logits)).sum(-1)


def n_steps_taken(logits: Tensor) -> Tensor:
    """The first k with s_k > 1/2, or K where the chain never stops: (..., K) -> (...)."""
    goes_on = log_going_on(logits) >= math.log(0.5)
    return (1 + goes_on.sum(-1)).clamp_max(logits.shape[-1])
