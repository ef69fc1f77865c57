"""What distances tell of partitions: silhouettes, neighbours and variances."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coterie.judge.agreement import Members, starts_of

Array = NDArray[np.float64]
Owner = NDArray[np.intp]

SOME_ROWS = 400  # between which all distances are computed
NEIGHBOURS = 10


def about_distances(
    turned: NDArray[np.float32], labels: NDArray[np.integer], members: Members, owner: Owner
) -> dict[str, Array]:
    """Silhouettes, neighbours and variances, by all axes and by the first three."""
    columns: dict[str, Array] = {}
    n_rows = len(turned)
    rows = np.linspace(0, n_rows - 1, min(n_rows, SOME_ROWS)).astype(np.intp)
    starts = starts_of(owner)
    k = np.bincount(owner)
    for tail, points in (("", turned), (" of three axes", turned[:, :3])):
        near = cKDTree(points).query(points[rows], k=min(n_rows, NEIGHBOURS + 1))[1][:, 1:]
        same = (labels[:, near] == labels[:, rows, None]).mean((1, 2))
        size = members.sum(0).astype(np.float64)
        chance = np.add.reduceat((size / n_rows) ** 2, starts)
        columns["neighbours agree" + tail] = same
        columns["neighbours agree beyond chance" + tail] = np.where(
            k > 1, (same - chance) / np.maximum(1 - chance, 1e-9), 0.0
        )
        some = points[rows].astype(np.float32)
        square = (some**2).sum(1)
        distance = np.sqrt(np.maximum(square[:, None] + square - 2 * some @ some.T, 0))
        own = members[rows]
        count = own.sum(0)
        total = (distance @ own).astype(np.float64)  # (r, S)
        silhouette = np.zeros(len(k))
        worst = np.zeros(len(k))
        for number, (start, n_clusters) in enumerate(zip(starts, k, strict=True)):
            if n_clusters == 1:
                continue
            part = slice(start, start + n_clusters)
            mine = labels[number, rows]
            place = np.arange(len(rows)), mine
            mean = total[:, part] / np.maximum(count[part], 1)
            inside = total[:, part][place] / np.maximum(count[part][mine] - 1, 1)
            mean[place] = np.inf
            mean[:, count[part] == 0] = np.inf
            outside = mean.min(1)
            outside[~np.isfinite(outside)] = 0
            value = (outside - inside) / np.maximum(np.maximum(outside, inside), 1e-12)
            value[count[part][mine] <= 1] = 0
            silhouette[number] = value.mean()
            sums = np.bincount(mine, value, minlength=n_clusters)
            worst[number] = (sums / np.maximum(count[part], 1)).min()
        columns["silhouette" + tail] = silhouette
        columns["worst silhouette" + tail] = worst
        centred = points - points.mean(0)
        size = np.maximum(members.sum(0), 1)
        means = (members.T @ centred) / size[:, None]
        between = np.add.reduceat((means**2).sum(1) * size, starts).astype(np.float64)
        explained = between / max(1e-12, float((centred**2).sum()))
        columns["variance explained" + tail] = explained
        columns["log Calinski-Harabasz" + tail] = np.log1p(
            explained
            / np.maximum(1 - explained, 1e-6)
            * (n_rows - k)
            / np.maximum(k - 1, 1)
            * (k > 1)
        )
    return columns
