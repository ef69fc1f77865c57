"""How the loop went, for those who want to see it."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from coterie.inference.context import Rows
from coterie.inference.result import Step
from coterie.systems.protocol import Commit, Sequential


def steps_of(commits: Sequence[Commit], index: Rows) -> tuple[Step, ...]:
    """What the commits said of the points of this index (m,), which may name a point twice."""
    rows, once = np.unique(index, return_index=True)
    # All at once: a GPU that is asked step by step is waited for as often.
    joined = torch.stack([commit.joined[0] for commit in commits]).cpu().numpy()[:, once]
    logits = torch.stack([commit.membership_logits[0] for commit in commits]).cpu().numpy()[:, once]
    return tuple(
        Step(
            claimed=rows[took],
            offered=rows[np.isfinite(wanted)],
            probabilities=expit(wanted[np.isfinite(wanted)]),
        )
        for took, wanted in zip(joined, logits, strict=True)
    )


@torch.inference_mode()
def steps_of_all(
    system: Sequential,
    commits: Sequence[Commit],
    context: NDArray[np.float32],
    index: Rows,
    seen: Rows,
) -> tuple[Step, ...]:
    """The same of all points of a context (m, D), of which the network has seen some.

    index (m,): which points of the set they are; seen: which of them the commits are about. The
    others are offered to each step as if they had been there.
    """
    points = torch.from_numpy(context).to(commits[0].joined.device)
    logits = system.replay(points[None], commits)[0].cpu().numpy()  # (m, steps)
    rows, once = np.unique(index, return_index=True)
    free = np.ones(len(context), dtype=bool)
    steps = []
    for number, commit in enumerate(commits):
        claimed = logits[:, number] > 0
        claimed[seen] = commit.joined[0].cpu().numpy()
        offered = free[once]
        probabilities = expit(logits[once, number])
        steps.append(
            Step(
                claimed=rows[(claimed & free)[once]],
                offered=rows[offered],
                probabilities=probabilities[offered],
            )
        )
        free &= ~claimed
    return tuple(steps)
