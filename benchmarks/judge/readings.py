"""What a network makes of several views, read as one batch through the loop."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coterie.data.batch import SetBatch
from coterie.frames.standard import fit_standard
from coterie.functional.matching import sureness
from coterie.functional.partitions import stick_breaking
from coterie.inference.loop import find_clusters
from coterie.inference.second_look import (
    DOUBTFUL,
    FEWEST,
    FEWEST_IN_FRAME,
    LARGE_SHARE,
    SMALLEST_SHARE,
    SURE,
    SURE_ENOUGH,
)
from coterie.systems.protocol import Sequential


class Reading(NamedTuple):
    """A partition of n points: labels (n,) 0..k-1, and how sure the network is of it, 0 to 1."""

    labels: NDArray[np.int16]
    sure: float


class _Claims(NamedTuple):
    """The steps of one set: who joined (S, n) bool, membership logits (S, n), sureness (S,)."""

    joined: NDArray[np.bool_]
    logits: torch.Tensor
    sure: NDArray[np.float64]


def read_sets(
    system: Sequential,
    sets: Sequence[NDArray[np.float32]],
    *,
    second_look: bool = True,
    batch_size: int = 64,
    accelerate: bool = True,
) -> list[Reading]:
    """The partition of each of several sets (n_i, width), all of them through one loop."""
    claims = _claims(system, sets, batch_size, accelerate)
    labels = [_labels(each, points) for each, points in zip(claims, sets, strict=True)]
    sure = [_total_sureness(each) for each in claims]
    if second_look:
        _look_closer(system, sets, claims, labels, sure, batch_size, accelerate)
    return [
        Reading(np.unique(each, return_inverse=True)[1].astype(np.int16), value)
        for each, value in zip(labels, sure, strict=True)
    ]


def _claims(
    system: Sequential,
    sets: Sequence[NDArray[np.float32]],
    batch_size: int,
    accelerate: bool,
) -> list[_Claims]:
    device = next(system.parameters()).device  # type: ignore[attr-defined]
    found: list[_Claims | None] = [None] * len(sets)
    by_size = sorted(range(len(sets)), key=lambda number: -len(sets[number]))
    for start in range(0, len(sets), batch_size):
        numbers = by_size[start : start + batch_size]
        longest = len(sets[numbers[0]])
        points = torch.zeros(len(numbers), longest, sets[0].shape[1])
        mask = torch.zeros(len(numbers), longest, dtype=torch.bool)
        for place, number in enumerate(numbers):
            points[place, : len(sets[number])] = torch.from_numpy(sets[number])
            mask[place, : len(sets[number])] = True
        batch = SetBatch(points, mask).to(device)
        state = find_clusters(system, batch, accelerate=accelerate)
        joined = torch.stack([each.joined for each in state.commits], 1).cpu()
        logits = torch.stack([each.membership_logits for each in state.commits], 1).cpu()
        for place, number in enumerate(numbers):
            n_points = len(sets[number])
            took = joined[place, :, :n_points].any(1)
            own = logits[place, took, :n_points]
            found[number] = _Claims(
                joined[place, took, :n_points].numpy(),
                own,
                sureness(own).double().numpy(),
            )
    return [each for each in found if each is not None]


def _labels(claims: _Claims, points: NDArray[np.float32]) -> NDArray[np.int16]:
    """Each point's most probable cluster among those that the network does not doubt: (n,)."""
    if not len(claims.sure):
        return np.zeros(len(points), dtype=np.int16)
    sure = claims.sure.copy()
    over = (claims.logits <= 0).all(1).numpy().cumsum() > 0
    if not over.all():
        sure[over] = 0.0
    kept = np.flatnonzero(sure >= min(DOUBTFUL, sure.max()))
    logits = claims.logits.T  # (n, S); a point that is gone is offered to nobody
    shares = stick_breaking(logits)[:, kept]
    labels = shares.argmax(1).numpy().astype(np.int16)
    homeless = ~torch.isfinite(shares).any(1).numpy()
    if homeless.any() and not homeless.all():
        tree = cKDTree(points[~homeless])
        labels[homeless] = labels[~homeless][tree.query(points[homeless])[1]]
    return labels


def _total_sureness(claims: _Claims) -> float:
    sizes = claims.joined.sum(1)
    return float((sizes * claims.sure).sum() / max(1, sizes.sum()))


def _look_closer(
    system: Sequential,
    sets: Sequence[NDArray[np.float32]],
    claims: list[_Claims],
    labels: list[NDArray[np.int16]],
    sure: list[float],
    batch_size: int,
    accelerate: bool,
) -> None:
    """Show every doubtful or small cluster of every set alone, and write the parts into labels."""
    asked = []
    for number, (points, claim, own) in enumerate(zip(sets, claims, labels, strict=True)):
        for step, members in enumerate(claim.joined):
            size = int(members.sum())
            crowded = size < LARGE_SHARE * len(points)
            if size >= FEWEST_IN_FRAME and (claim.sure[step] < SURE or crowded):
                rows = np.flatnonzero(members)
                # What was dissolved among the others is no cluster any more.
                if np.bincount(own[rows]).max() >= 0.5 * size:
                    asked.append((number, step, rows))
    if not asked:
        return
    width = sets[0].shape[1]
    alone = []
    for number, _, rows in asked:
        points = sets[number][rows].astype(np.float64)
        alone.append(fit_standard(points, width)(points))
    for (number, step, rows), part in zip(
        asked, _claims(system, alone, batch_size, accelerate), strict=True
    ):
        sizes = part.joined.sum(1)
        worth = sizes >= max(FEWEST, SMALLEST_SHARE * len(rows))
        if worth.sum() < 2:
            continue
        confidence = float((sizes * part.sure)[worth].sum() / sizes[worth].sum())
        if confidence <= max(SURE_ENOUGH, claims[number].sure[step]):
            continue
        chosen = _Claims(part.joined[worth], part.logits[torch.from_numpy(worth)], part.sure[worth])
        divided = _labels(chosen, sets[number][rows])
        labels[number] = labels[number].copy()
        labels[number][rows] = labels[number].max() + 1 + divided
