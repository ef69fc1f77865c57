"""The frame of a table, by the kind that a network was trained in."""

import numpy as np
from numpy.typing import NDArray

from coterie.frames.plain import fit_plain
from coterie.frames.protocol import Frame, FrameKind
from coterie.frames.standard import Groups, fit_standard


def fit_frame(
    table: NDArray,
    width: int,
    kind: FrameKind,
    *,
    groups: Groups | None = None,
    random_state: np.random.RandomState | None = None,
) -> Frame:
    """The frame of a table (n, d) for a network of a fixed width.

    "plain": the columns as they are, principal components if there are more than the network reads;
    "standard": standardised columns on their principal axes (`fit_standard` explains groups and
    random_state).
    """
    if kind == "standard":
        return fit_standard(table, width, groups=groups, random_state=random_state)
    if kind != "plain":
        raise ValueError(f"unknown frame {kind!r}; known: 'plain', 'standard'")
    return fit_plain(table, width)
