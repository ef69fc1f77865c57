"""The content of a report, gathered before it is rendered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE, Clustering
from coterie.report.plane import Numbers, Plane, plane_of
from coterie.report.profile import Profile, least_certain, profiles

MAX_SHOWN = 10_000
MAX_PROFILED = 100_000

# Maps some rows (m,) to the text of additional columns, m cells each.
Describe = Callable[[NDArray[np.intp]], Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Origin:
    """The origin of the rows and how to reproduce the report.

    title: name of the data; command: how to reproduce it; first_row: the number of the first row,
    one for files and zero in Python; n_rows: total number of rows, of which the points may be a
    sample; facts: further pairs of name and value; notes: warnings.
    """

    title: str
    command: str
    first_row: int = 0
    n_rows: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """The content of a report on points (n, d) with names of their d columns.

    numbers: row numbers (n,); sizes: points of each cluster (k,); n_noise: points in no cluster;
    confidence: of each point in its own cluster (n,), zero for noise; shown: indices of the drawn
    points (m,); plane: their positions (m, 2); details: additional columns of those, as text.
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
        """The number of points, including noise."""
        return int(self.sizes.sum()) + self.n_noise

    def detail(self, column: str, row: int) -> str:
        """A cell of an additional column; row is one of those described."""
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

    numbers: their row numbers in the file; sizes: of the clusters in the whole file; n_noise: its
    number of noise rows; read: the points in the network's frame; describe: reads additional
    columns.
    """
    n_points = len(points)
    labels = clustering.labels
    confidence = clustering.confidence
    inside = np.flatnonzero(labels != NOISE)
    shown = _shown(clustering)
    profiled = _sample(n_points, MAX_PROFILED)
    cluster_profiles = tuple(
        profile._replace(typical=profiled[profile.typical])
        for profile in profiles(points[profiled], labels[profiled], confidence[profiled])
    )
    uncertain = inside[least_certain(confidence[inside])]
    described = np.unique(
        np.concatenate([shown, uncertain, *(profile.typical for profile in cluster_profiles)])
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
        profiles=cluster_profiles,
        uncertain=uncertain,
        described=described,
        details={} if describe is None else describe(described),
    )


def _shown(clustering: Clustering) -> NDArray[np.intp]:
    """The points to draw; if there are many, those on which the clusters were found."""
    context = clustering.steps[0].offered if clustering.steps else ()
    n_points = len(clustering.labels)
    if n_points > MAX_SHOWN >= len(context) > 0:
        return np.asarray(context)
    return _sample(n_points, MAX_SHOWN)


def _sample(n_points: int, size: int) -> NDArray[np.intp]:
    if n_points <= size:
        return np.arange(n_points)
    return np.sort(np.random.default_rng(0).choice(n_points, size, replace=False))
