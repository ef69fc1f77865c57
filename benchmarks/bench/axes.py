"""The style of the figures in the docs."""

from matplotlib.axes import Axes

from coterie.palette import FAINT, TAKEN


def tidy(axes: Axes) -> None:
    """Two plain axes without ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(TAKEN)
    axes.tick_params(colors=FAINT, labelsize=8, length=0)
