"""Colours and markers of clusters, shared by all figures."""

# Okabe and Ito's palette, which is safe for colour-blind readers, without yellow and black, which
# are hard to see on white or look like text. Later clusters repeat the colours with other markers.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
N_SHAPES = 6
INK, FAINT, TAKEN, PAPER = "#2B2F36", "#8A9099", "#CBCFD6", "#F6F7F9"


def colour_of(cluster: int) -> str:
    """The colour of a cluster; noise (-1) is grey."""
    return FAINT if cluster < 0 else PALETTE[cluster % len(PALETTE)]


def shape_of(cluster: int) -> int:
    """The number of a cluster's shape, below N_SHAPES."""
    return 0 if cluster < 0 else cluster // len(PALETTE) % N_SHAPES
