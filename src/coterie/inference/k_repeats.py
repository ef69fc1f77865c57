"""How far the number of clusters can be trusted, where all there is to ask is the network itself.

It is asked again, each time about some of the points: where the answers differ, the number is in
doubt. A network that is wrong in the same way each time is not found out, so the answers are
smeared, some of them widely.

What that is worth, `benchmarks/doubts.py` measures, on other sets than the widths were found on.
Frames stretched and mirrored at random, proposals drawn at random, and half of the points instead
of most were tried: no better.
"""

import numpy as np
from numpy.typing import NDArray

REPEATS = 8
KEPT = 0.8  # of the points, in each repeat
# The widths, in log k, made the true numbers of 48 fresh sets of the universal prior most probable,
# nearly: a little wider, for there are other sets.
LEAST_WIDTH = 0.05  # so far off are answers that are always the same
SPREAD_WIDTH = 0.5  # for each deviation of the answers
# Of the sets: so many are so far from what the network takes them for, whatever it answers.
MISTAKEN = 0.1
MISTAKEN_WIDTH = 0.5


def draw_parts(n_points: int) -> list[NDArray[np.intp]]:
    """The points of each repeat, in their order; the same for every set of so many points."""
    size = max(1, round(KEPT * n_points))
    drawn = (np.random.RandomState(number).permutation(n_points) for number in range(REPEATS))
    return [np.sort(rows[:size]) for rows in drawn]


def smear(answers: list[int], most: int) -> NDArray[np.float64]:
    """Probabilities of 0 to most clusters (most + 1,), zero for none, from several answers.

    The smaller part is smeared by MISTAKEN_WIDTH, the larger by LEAST_WIDTH and by SPREAD_WIDTH of
    what the answers differ.
    """
    close = _smeared(answers, most, LEAST_WIDTH + SPREAD_WIDTH * float(np.log(answers).std()))
    far = _smeared(answers, most, MISTAKEN_WIDTH)
    return (1 - MISTAKEN) * close + MISTAKEN * far


def _smeared(answers: list[int], most: int, width: float) -> NDArray[np.float64]:
    """Each answer k gives j in proportion to exp(-|log j - log k| / width): (most + 1,)."""
    log_k = np.log(np.arange(1, most + 1))
    shares = np.exp(-np.abs(log_k - np.log(answers)[:, None]) / width)  # (answers, most)
    return np.concatenate([[0.0], (shares / shares.sum(1, keepdims=True)).mean(0)])
