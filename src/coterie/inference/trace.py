"""The trace: what each step of the loop claimed, and how sure it was."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from coterie.inference.context import Rows
from coterie.inference.endings import Context
from coterie.inference.proposal import Proposal
from coterie.inference.result import Step
from coterie.systems.protocol import Commit, Sequential


def trace(proposal: Proposal, context: Context, *, whole: bool) -> tuple[Step, ...]:
    """The steps that led to the clusters of a proposal, after a second look where there was one.

    whole: whether the points of the context that the network was not shown take part, as if they
    had been offered to each step.
    """
    if not proposal.commits:  # a direct system takes no steps
        return ()
    if not whole or len(context.seen) == len(context.points):
        return steps_of(proposal.clusters, context.rows[context.seen])
    return steps_of_all(proposal, context)


def steps_of(commits: Sequence[Commit], index: Rows) -> tuple[Step, ...]:
    """What the commits said of the points of this index (m,), which may name a point twice."""
    rows, once = np.unique(index, return_index=True)
    # All at once, so that a GPU is synchronised once.
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
def steps_of_all(proposal: Proposal, context: Context) -> tuple[Step, ...]:
    """The same for all points of a context, of which the network has seen some."""
    rows, once = np.unique(context.rows, return_index=True)
    free = np.ones(len(context.points), dtype=bool)
    steps = []
    for commit, logits in zip(proposal.clusters, _all_logits(proposal, context), strict=True):
        claimed = logits > 0
        claimed[context.seen] = commit.joined[0].cpu().numpy()
        offered = free[once]
        steps.append(
            Step(
                claimed=rows[(claimed & free)[once]],
                offered=rows[offered],
                probabilities=expit(logits[once])[offered],
            )
        )
        free &= ~claimed
    return tuple(steps)


def _all_logits(proposal: Proposal, context: Context) -> list[NDArray[np.float32]]:
    """Membership logits (m,) of all points for each cluster of a proposal, whole or part."""
    system = cast(Sequential, proposal.system)
    whole = _replayed(system, proposal.commits, context.points)
    if not proposal.looks:
        return whole
    logits = []
    for look, own in zip(proposal.looks, whole, strict=True):
        if not look.parts:
            logits.append(own)
            continue
        points = context.points if look.frame is None else look.frame(context.points)
        # A part claims what its cluster claims and it claims itself.
        parts = _replayed(system, look.parts, points)
        logits += [np.minimum(own, part) for part in parts]
    return logits


def _replayed(
    system: Sequential, commits: Sequence[Commit], points: NDArray[np.float32]
) -> list[NDArray[np.float32]]:
    at_work = torch.from_numpy(points).to(commits[0].joined.device)
    logits = system.replay(at_work[None], commits)[0]  # (m, steps)
    return list(logits.T.cpu().numpy())
