"""Can fractals be told from ordinary sets? Six attempts, of which the package uses the last.

    python benchmarks/fractals.py

prints for each attempt the AUC (0.5 is chance) and how many fractals are beyond all but one in a
hundred fresh sets of the universal prior. The settings of the last two were chosen with these sets,
so they are tried on other fractals and other sets of the prior too; the last one, whose limit is in
the package, on public sets and real tables as well (`COTERIE_DATA` names their folder).
"""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.neighbors import LocalOutlierFactor

import coterie
from before_after import real_tables
from bench.held_out import held_out_sets
from bench.suite import FILE, SuiteSet, read_suite
from coterie.frames.standard import fit_standard
from coterie.ood.copies import likeness
from coterie.ood.size import ALIKE

Points = NDArray[np.float64]
Map = tuple[float, tuple[float, ...]]  # x -> scale * x + offset

ROWS, EACH, FRESH_A_FAMILY, DIVIDED_A_FAMILY = 500, 6, 50, 8
SEED, OTHER_SEED = 3, 11
FEWEST = 100  # rows, as for the texture
GAP, FEWEST_OF_A_PART = 1.6, 4
LEAST_CLUSTER, MOST_CLUSTERS = 30, 12
COPIES, LEAST_COPY, LEAST_BALANCE = range(3, 9), 25, 0.5


def _grid(side: int, kept: Callable[[int, int], bool]) -> tuple[Map, ...]:
    places = [(i, j) for i in range(side) for j in range(side) if kept(i, j)]
    return tuple((1 / side, (i / side, j / side)) for i, j in places)


FRACTALS: dict[str, tuple[Map, ...]] = {
    "Sierpinski triangle": tuple((0.5, at) for at in ((0.0, 0.0), (0.5, 0.0), (0.25, 0.433))),
    "Sierpinski carpet": _grid(3, lambda i, j: (i, j) != (1, 1)),
    "Cantor dust": _grid(3, lambda i, j: i != 1 and j != 1),
    "Vicsek cross": _grid(3, lambda i, j: i == 1 or j == 1),
    "Cantor dust in space": tuple(
        (0.4, (0.6 * a, 0.6 * b, 0.6 * c)) for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ),
}


def _corners(count: int, scale: float) -> tuple[Map, ...]:
    angles = 2 * np.pi * np.arange(count) / count
    return tuple((scale, ((1 - scale) * np.cos(at), (1 - scale) * np.sin(at))) for at in angles)


OTHERS: dict[str, tuple[Map, ...]] = {
    "pentagons": _corners(5, 0.382),
    "hexagons": _corners(6, 1 / 3),
    "hexagons with a centre": (*_corners(6, 1 / 3), (1 / 3, (0.0, 0.0))),
    "tetrahedra": tuple(
        (0.5, at) for at in ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))
    ),
}


def fractal(maps: Sequence[Map], random: Generator, rows: int = ROWS) -> Points:
    """Points (rows, d) of the attractor, by the chaos game."""
    point, found = np.zeros(len(maps[0][1])), []
    for number in random.integers(len(maps), size=rows + 30):
        scale, offset = maps[int(number)]
        point = scale * point + np.array(offset)
        found.append(point)
    return np.array(found[30:])


def dimensions(points: Points) -> list[float]:
    """How fast neighbours become more at growing distances, and how unevenly, at four scales."""
    reach = cKDTree(points).query(points, k=66)[0][:, [4, 8, 16, 32, 64]]
    logs = np.log(np.maximum(reach, 1e-9))
    steps = np.diff(logs, axis=1)
    return [*(np.log(2) / np.maximum(steps.mean(0), 1e-9)), *steps.std(0), *logs.std(0)]


def nested_gaps(points: Points) -> float:
    """In how many parts within parts a point is, on average, each set off by a gap."""
    merges, n = linkage(points, "single"), len(points)
    size, height, depth = np.ones(2 * n - 1), np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    for at, (one, other, distance, _) in enumerate(merges, n):
        pair = [int(one), int(other)]
        size[at], height[at], depth[at] = size[pair].sum(), distance, depth[pair].sum()
        if size[pair].min() >= FEWEST_OF_A_PART and distance >= GAP * height[pair].max():
            depth[at] += size[at]
    return float(depth[-1] / n)


def divided_again(points: Points) -> float:
    """The mean log of the clusters that the network finds in each of its clusters alone."""
    model = coterie.AMCP(ending="network", random_state=0)
    labels = model.fit_predict(points)
    parts = [points[labels == each] for each in range(min(labels.max() + 1, MOST_CLUSTERS))]
    found = [(len(p), model.fit(p).n_clusters_) for p in parts if len(p) >= LEAST_CLUSTER]
    return (
        float(np.average(np.log([k for _, k in found]), weights=[n for n, _ in found]))
        if found
        else 0.0
    )


def parts_like_the_whole(points: Points) -> float:
    """How closely the parts of a set, by k-means, are copies of it, in the best number of parts.

    The energy distance of the least similar part from the whole, both in a unit of their own,
    negated; -1 where no division has parts of similar sizes.
    """
    points = points[default_rng(0).permutation(len(points))[:ROWS]]
    whole, best = _in_own_unit(points), -1.0
    for count in COPIES:
        labels = KMeans(count, n_init=3, random_state=0).fit_predict(points)
        sizes = np.bincount(labels, minlength=count)
        if sizes.min() >= max(LEAST_COPY, LEAST_BALANCE * sizes.max()):
            parts = [_in_own_unit(points[labels == each]) for each in range(count)]
            best = max(best, -max(_energy_distance(part, whole) for part in parts))
    return best


def _in_own_unit(points: Points) -> Points:
    centred = points - points.mean(0)
    return centred / max(np.sqrt(np.square(centred).sum(1).mean()), 1e-12)


def _energy_distance(one: Points, other: Points) -> float:
    """Without bias: of two samples of one distribution it is zero on average."""
    return float(2 * cdist(one, other).mean() - pdist(one).mean() - pdist(other).mean())


def compare(name: str, ordinary: NDArray, strange: NDArray) -> None:
    """Print how well a statistic tells fractals, where it is large."""
    area = (ordinary[:, None] < strange).mean() + (ordinary[:, None] == strange).mean() / 2
    beyond = int((strange > np.quantile(ordinary, 0.99)).sum())
    print(f"{name:44} AUC {area:.2f}, {beyond} of {len(strange)} beyond 99 in 100", flush=True)


def main() -> None:
    """Print all attempts."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)

    fresh = _fresh(SEED)
    tables = [each.points.astype(np.float64) for each in fresh]
    made = [fractal(maps, default_rng(s)) for maps in FRACTALS.values() for s in range(EACH)]
    ordinary, strange = framed(tables), framed(made)
    known, asked = (np.array([dimensions(p) for p in each]) for each in (ordinary, strange))
    compare("dimension at the smallest scale, small", -known[:, 0], -asked[:, 0])
    centre, spread = known.mean(0), known.std(0)
    detector = LocalOutlierFactor(novelty=True).fit((known[::2] - centre) / spread)
    unlike = [-detector.score_samples((each - centre) / spread) for each in (known[1::2], asked)]
    compare("all dimensions and their spread, joint outlier", *unlike)
    compare(
        "parts within parts",
        *(np.array([nested_gaps(p) for p in each]) for each in (ordinary, strange)),
    )
    some = [
        each.points.astype(np.float64)
        for each in fresh
        if int(each.name.split()[-1]) < DIVIDED_A_FAMILY
    ]
    compare(
        "clusters that fall apart again",
        *(np.array([divided_again(p) for p in each]) for each in (some, made)),
    )
    compare("parts like the whole", *map(_alike, (ordinary, strange)))
    others = [fractal(maps, default_rng(s)) for maps in OTHERS.values() for s in range(EACH)]
    unseen = [each.points.astype(np.float64) for each in _fresh(OTHER_SEED)]
    compare("the same, other sets and fractals", _alike(framed(unseen)), _alike(framed(others)))
    compare("parts like samples of the whole, on average", *map(_likeness, (ordinary, strange)))
    compare("the same, other sets and fractals", *map(_likeness, map(framed, (unseen, others))))
    asked_too = {
        "sets of the prior": [*ordinary, *framed(unseen)],
        "fractals": [*strange, *framed(others)],
        "public sets": framed(_public()),
        "real tables": framed([g.points for s in ("train", "validation") for g in real_tables(s)]),
    }
    for name, sets in asked_too.items():
        print(f"beyond {ALIKE}: {(_likeness(sets) > ALIKE).sum()} of {len(sets)} {name}")


def framed(tables: Sequence[Points]) -> list[Points]:
    """Tables in the frame of the universal network."""
    return [fit_standard(table, 16)(table).astype(np.float64) for table in tables]


def _fresh(seed: int) -> list[SuiteSet]:
    """Sets of the prior that are large enough."""
    return [each for each in held_out_sets(FRESH_A_FAMILY, seed) if len(each.points) >= FEWEST]


def _public(rows: int = 2_000) -> list[Points]:
    """The public sets, of larger ones a sample."""
    sets = [each.points.astype(np.float64) for each in read_suite(_data() / FILE)]
    return [points[default_rng(0).permutation(len(points))[:rows]] for points in sets]


def _data() -> Path:
    return Path(os.environ["COTERIE_DATA"])


def _likeness(tables: Sequence[Points]) -> NDArray:
    """The likeness of sets in the frame of the network; sets that are not judged have the least."""
    found = [likeness(each) for each in tables]
    return np.array([-np.inf if each is None else each for each in found])


def _alike(tables: Sequence[Points]) -> NDArray:
    return np.array([parts_like_the_whole(each) for each in tables])


if __name__ == "__main__":
    main()
