"""The content of a report, gathered before it is rendered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coterie.inference.result import NOISE, Clustering
from coterie.report.numerals import Numeral, numeral_of
from coterie.report.plane import Numbers, Plane, plane_of
from coterie.report.profile import Profile, cluster_medians, least_certain, profiles
from coterie.report.trust import Trust

MAX_SHOWN = 10_000
MAX_PROFILED, MAX_PROFILED_CELLS = 100_000, 2_000_000
N_PICTURES, N_DOUBTFUL = 8, 4  # of each cluster, where the rows are images

# Maps some rows (m,) to the text of additional columns, m cells each.
Describe = Callable[[NDArray[np.intp]], Mapping[str, Sequence[str]]]
# Maps some rows (m,) to their images, as addresses that hold the data.
Depict = Callable[[NDArray[np.intp]], Mapping[int, str]]


@dataclass(frozen=True)
class Origin:
    """The origin of the rows and how to reproduce the report.

    title: name of the data; command: how to reproduce it; first_row: the number of the first row,
    one for files and zero in Python; n_rows: total number of rows, of which the points may be a
    sample; facts: further pairs of name and value; notes: warnings; option: how to ask for another
    number of clusters.
    """

    title: str
    command: str
    first_row: int = 0
    n_rows: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    option: str = "n_clusters={}"


@dataclass(frozen=True)
class Content:
    """The content of a report on points (n, d) with names of their d columns.

    numbers: row numbers (n,); sizes: points of each cluster (k,); n_noise: points in no cluster;
    confidence: of each point in its own cluster (n,), zero for noise; shown: indices of the drawn
    points (m,); plane: their positions (m, 2); details: additional columns of those, as text;
    numerals: how the numbers of each column are written; profiled: the rows that the statistics of
    the clusters are from; medians: of the columns in each cluster, or shares of categories (k, d);
    trust: how far to believe the result.
    If the rows are images: doubtful, the least certain rows of each cluster, and pictures, the
    images of some rows as addresses that hold the data.
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
    numerals: tuple[Numeral, ...]
    profiled: NDArray[np.intp]
    medians: Numbers
    trust: Trust
    doubtful: tuple[NDArray[np.intp], ...] = ()
    pictures: Mapping[int, str] = field(default_factory=dict)

    @property
    def n_read(self) -> int:
        """The number of points on which the clusters were found."""
        steps = self.clustering.steps
        return len(steps[0].offered) if steps else len(self.points)

    @property
    def mean_confidence(self) -> Numbers:
        """The mean confidence of each cluster's points (k,)."""
        inside, k = self.clustering.labels != NOISE, len(self.sizes)
        labels = self.clustering.labels[inside]
        sums = np.bincount(labels, self.confidence[inside], minlength=k)
        return sums / np.maximum(1, np.bincount(labels, minlength=k))

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
    trust: Trust | None = None,
    depict: Depict | None = None,
    plane: Plane | None = None,
) -> Content:
    """The content of a report on a clustering of points (n, d).

    numbers: their row numbers in the file; sizes: of the clusters in the whole file; n_noise: its
    number of noise rows; read: the points in the network's frame; describe: reads additional
    columns; trust: how far to believe the result; depict: reads images, if the rows are images;
    plane: where to draw the points, by default found from them.
    """
    n_points = len(points)
    labels = clustering.labels
    confidence = clustering.confidence
    inside = np.flatnonzero(labels != NOISE)
    shown = _shown(clustering)
    profiled = _sample(n_points, min(MAX_PROFILED, MAX_PROFILED_CELLS // points.shape[1]))
    numerals = tuple(numeral_of(points[:, j], name) for j, name in enumerate(names))
    shares = np.array([numeral.share for numeral in numerals])
    cluster_profiles = tuple(
        profile._replace(typical=profiled[profile.typical])
        for profile in profiles(
            points[profiled],
            labels[profiled],
            confidence[profiled],
            shares=shares,
            n_rows=5 if depict is None else N_PICTURES,
        )
    )
    uncertain = inside[least_certain(confidence[inside])]
    typical = [profile.typical for profile in cluster_profiles]
    described = np.unique(np.concatenate([shown, uncertain, *typical]))
    doubtful: tuple[NDArray[np.intp], ...] = ()
    pictures: Mapping[int, str] = {}
    if depict is not None:
        doubtful = tuple(_doubtful(labels, confidence, c) for c in range(clustering.n_clusters))
        pictures = depict(np.unique(np.concatenate([uncertain, *typical, *doubtful])))
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
        plane=plane_of(
            points[shown],
            names if depict is None else None,
            None if read is None else read[shown],
            labels[shown],
            umap=True,
        )
        if plane is None
        else plane._replace(places=plane.places[shown]),
        profiles=cluster_profiles,
        uncertain=uncertain,
        described=described,
        details={} if describe is None else describe(described),
        numerals=numerals,
        profiled=profiled,
        medians=cluster_medians(points[profiled], labels[profiled], shares, clustering.n_clusters),
        trust=trust or Trust(),
        doubtful=doubtful,
        pictures=pictures,
    )


def _doubtful(labels: NDArray[np.intp], confidence: Numbers, cluster: int) -> NDArray[np.intp]:
    members = np.flatnonzero(labels == cluster)
    return members[least_certain(confidence[members], N_DOUBTFUL)]


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
