"""The frame of a table, by the kind that a network was trained in."""

from numpy.typing import NDArray

from coterie.frames.plain import fit_plain
from coterie.frames.protocol import Frame, FrameKind, Groups
from coterie.frames.standard import fit_standard


def fit_frame(
    table: NDArray, width: int, kind: FrameKind, *, groups: Groups | None = None
) -> Frame:
    """The frame of a table (n, d) for a network of a fixed width.

    "plain": the columns as they are, principal components if there are more than the network reads;
    "standard": standardised columns on their principal axes (`fit_standard` explains groups).
    """
    if kind == "standard":
        return fit_standard(table, width, groups=groups)
    if kind != "plain":
        raise ValueError(f"unknown frame {kind!r}; known: 'plain', 'standard'")
    return fit_plain(table, width)
