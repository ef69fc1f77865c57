"""How the pictures of the docs look."""

from matplotlib.axes import Axes

from coterie.palette import FAINT, TAKEN


def tidy(axes: Axes) -> None:
    """Two quiet axes without ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(TAKEN)
    axes.tick_params(colors=FAINT, labelsize=8, length=0)
