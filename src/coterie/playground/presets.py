"""Example sets with known clusters, on a canvas from -6 to 6.

Round clusters are about as wide as the training clusters of the mixture networks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

WIDTH = 0.25  # standard deviation of a round cluster
DIGITS = 3


class Drawn(NamedTuple):
    """Points (n, 2) and their true clusters (n,), -1 for noise."""

    points: NDArray[np.float64]
    truth: NDArray[np.intp]


class Slider(NamedTuple):
    """An adjustable parameter of a preset."""

    title: str
    lowest: float
    highest: float
    start: float


@dataclass(frozen=True)
class Preset:
    """A family of sets: shape is called with n, k, overlap in 0..1 and a generator."""

    title: str
    shape: Callable[[int, int, float, Generator], Drawn]
    k: Slider | None
    overlap: Slider


def draw(name: str, *, n: int = 600, k: int = 4, overlap: float = 0.2, seed: int = 0) -> Drawn:
    """A set of n points from a preset, the same for the same arguments."""
    points, truth = PRESETS[name].shape(n, k, overlap, np.random.default_rng(seed))
    return Drawn(np.round(points, DIGITS), truth)


def _mixture(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    return _blobs(_labels(n, np.ones(k), generator), k, overlap, generator)


def _unbalanced(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    return _blobs(_labels(n, 0.45 ** np.arange(k), generator), k, overlap, generator)


def _anisotropic(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    labels = _labels(n, np.ones(k), generator)
    angle = generator.uniform(0, np.pi, k)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    along = generator.normal(size=(n, 2)) * WIDTH * (1 + overlap) * [3.0, 0.6]
    offset = np.einsum("ijn,nj->ni", turn[..., labels], along)
    return Drawn(_centres(k, overlap, generator)[labels] + offset, labels)


def _noisy(n: int, k: int, share: float, generator: Generator) -> Drawn:
    points, truth = _mixture(n, k, 0.1, generator)
    noise = generator.permutation(n) < round(share * n)
    points[noise] = generator.uniform(-5.5, 5.5, (int(noise.sum()), 2))
    return Drawn(points, np.where(noise, -1, truth))


def _moons(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    labels = _labels(n, np.ones(2), generator)
    angle = np.pi * generator.uniform(size=n)
    upper = labels == 0
    x = np.where(upper, np.cos(angle) - 0.5, 0.5 - np.cos(angle))
    y = np.where(upper, np.sin(angle) - 0.25, 0.25 - np.sin(angle))
    return Drawn(_thick(2.6 * np.column_stack([x, y]), overlap, generator), labels)


def _rings(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    radius = np.linspace(5.0, 5.0 / k, k)
    labels = _labels(n, radius, generator)
    angle = 2 * np.pi * generator.uniform(size=n)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return Drawn(_thick(radius[labels, None] * circle, overlap, generator), labels)


def _spirals(n: int, k: int, overlap: float, generator: Generator) -> Drawn:
    labels = _labels(n, np.ones(k), generator)
    along = np.sqrt(generator.uniform(0.02, 1, n))
    angle = 2 * np.pi * (1.1 * along + labels / k)
    arm = 5.0 * along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Drawn(_thick(arm, overlap, generator), labels)


def _structureless(n: int, k: int, squeeze: float, generator: Generator) -> Drawn:
    points = generator.uniform(-5, 5, (n, 2)) * [1, 1 - 0.8 * squeeze]
    return Drawn(points, np.zeros(n, dtype=np.intp))


def _labels(n: int, weights: NDArray, generator: Generator) -> NDArray[np.intp]:
    """Labels in proportion to the weights (k,), with no empty cluster if n is large enough."""
    chosen = generator.choice(len(weights), n, p=weights / weights.sum())
    chosen[: len(weights)] = np.arange(len(weights))[:n]
    return chosen


def _blobs(labels: NDArray[np.intp], k: int, overlap: float, generator: Generator) -> Drawn:
    noise = generator.normal(size=(len(labels), 2)) * WIDTH * (1 + overlap)
    return Drawn(_centres(k, overlap, generator)[labels] + noise, labels)


def _centres(k: int, overlap: float, generator: Generator) -> NDArray[np.float64]:
    """Centres (k, 2) that avoid each other and move closer with the overlap.

    By best-candidate sampling: the farthest of several candidates is taken (Mitchell 1991).
    """
    centres = generator.uniform(-4.5, 4.5, (1, 2))
    while len(centres) < k:
        candidates = generator.uniform(-4.5, 4.5, (12, 2))
        distance = np.linalg.norm(candidates[:, None] - centres, axis=2).min(1)
        centres = np.vstack([centres, candidates[distance.argmax()]])
    return (centres - centres.mean(0)) * (1 - 0.8 * overlap)


def _thick(curve: NDArray[np.float64], overlap: float, generator: Generator) -> NDArray[np.float64]:
    return curve + generator.normal(size=curve.shape) * (0.06 + 0.5 * overlap)


_OVERLAP = Slider("overlap", 0, 1, 0.2)
_THICKNESS = Slider("thickness", 0, 1, 0.1)


def _clusters(lowest: int, highest: int, start: int) -> Slider:
    return Slider("clusters", lowest, highest, start)


PRESETS = {
    "mixture": Preset("Mixture", _mixture, _clusters(1, 12, 4), _OVERLAP),
    "anisotropic": Preset("Anisotropic", _anisotropic, _clusters(1, 8, 3), _OVERLAP),
    "unbalanced": Preset("Unbalanced", _unbalanced, _clusters(2, 8, 4), _OVERLAP),
    "noise": Preset("Noise", _noisy, _clusters(1, 8, 3), Slider("noise", 0, 0.6, 0.15)),
    "moons": Preset("Moons", _moons, None, _THICKNESS),
    "rings": Preset("Rings", _rings, _clusters(2, 5, 2), _THICKNESS),
    "spirals": Preset("Spirals", _spirals, _clusters(2, 5, 2), _THICKNESS),
    "structureless": Preset("No structure", _structureless, None, Slider("squeeze", 0, 1, 0)),
}
