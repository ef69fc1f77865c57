"""What a report says, gathered before a word of it is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE, Clustering
from coterie.report.plane import Numbers, Plane, plane_of
from coterie.report.profile import Profile, least_certain, profiles

MAX_SHOWN = 10_000
MAX_PROFILED = 100_000

# The text of further columns for some rows (m,): m cells each.
Describe = Callable[[NDArray[np.intp]], Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Origin:
    """Where the rows come from and how to do it again.

    title: what the data are called; command: what to run again; first_row: the number of the first
    row, for a file begins to count at one and Python at zero; n_rows: how many there are, of which
    the points may be a sample; facts: further lines of name and value; notes: what to mistrust.
    """

    title: str
    command: str
    first_row: int = 0
    n_rows: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """All that a report shows, of points (n, d) with names of their d columns.

    numbers: the rows' numbers (n,); sizes: points of each cluster (k,); n_noise: points that are in
    none; confidence: of each point in its own cluster (n,), zero for noise; shown: the points that
    are drawn (m,); plane: where they are (m, 2); details: further columns of those points, as text.
    """

    origin: Origin
    points: Numbers
    names: tuple[str, ...]
    clustering: Clustering
    numbers: NDArray[np.intp]
    sizes: NDArray[np.intp]
    n_noise: int
    confidence: Numbers
    shown: NDArray[np.intp]
    plane: Plane
    profiles: tuple[Profile, ...]
    uncertain: NDArray[np.intp]
    described: NDArray[np.intp]
    details: Mapping[str, Sequence[str]]

    @property
    def total(self) -> int:
        """How many points there are, in clusters or not."""
        return int(self.sizes.sum()) + self.n_noise

    def detail(self, column: str, row: int) -> str:
        """A cell of a further column; row is one of those described."""
        return self.details[column][int(np.searchsorted(self.described, row))]


def gather(
    clustering: Clustering,
    points: Numbers,
    names: tuple[str, ...],
    origin: Origin,
    *,
    numbers: NDArray[np.intp] | None = None,
    sizes: NDArray[np.intp] | None = None,
    n_noise: int | None = None,
    read: Numbers | None = None,
    describe: Describe | None = None,
) -> Content:
    """The content of a report on a clustering of points (n, d).

    numbers: their numbers in the file; sizes: of the clusters in the whole file; n_noise: how many
    rows of it are in none; read: the points as the network read them; describe: brings further
    columns.
    """
    n_points = len(points)
    labels = clustering.labels
    confidence = clustering.confidence
    inside = np.flatnonzero(labels != NOISE)
    shown = _shown(clustering)
    told = _sample(n_points, MAX_PROFILED)
    told_profiles = tuple(
        profile._replace(typical=told[profile.typical])
        for profile in profiles(points[told], labels[told], confidence[told])
    )
    uncertain = inside[least_certain(confidence[inside])]
    described = np.unique(
        np.concatenate([shown, uncertain, *(profile.typical for profile in told_profiles)])
    )
    return Content(
        origin=origin,
        points=points,
        names=names,
        clustering=clustering,
        numbers=(np.arange(n_points) if numbers is None else numbers) + origin.first_row,
        sizes=np.bincount(labels[inside], minlength=clustering.n_clusters)
        if sizes is None
        else sizes,
        n_noise=n_points - len(inside) if n_noise is None else n_noise,
        confidence=confidence,
        shown=shown,
        plane=plane_of(points[shown], names, None if read is None else read[shown]),
        profiles=told_profiles,
        uncertain=uncertain,
        described=described,
        details={} if describe is None else describe(described),
    )


def _shown(clustering: Clustering) -> NDArray[np.intp]:
    """The points to draw: of many, those on which the clusters were found."""
    context = clustering.steps[0].offered if clustering.steps else ()
    n_points = len(clustering.labels)
    if n_points > MAX_SHOWN >= len(context) > 0:
        return np.asarray(context)
    return _sample(n_points, MAX_SHOWN)


def _sample(n_points: int, size: int) -> NDArray[np.intp]:
    if n_points <= size:
        return np.arange(n_points)
    return np.sort(np.random.default_rng(0).choice(n_points, size, replace=False))
