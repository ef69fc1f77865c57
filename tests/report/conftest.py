import numpy as np
import pytest

import coterie
from coterie.report.content import Origin, gather


@pytest.fixture(scope="session")
def fitted(blobs):
    return coterie.AMCP().fit(blobs.points)


@pytest.fixture(scope="session")
def content(blobs, fitted):
    """What a report says of the clusters that nobody can miss, with a name for each row."""
    return gather(
        fitted.clustering_,
        np.array(blobs.points),
        ("width", "height"),
        Origin("blobs.csv", "coterie cluster blobs.csv", first_row=1),
        describe=lambda rows: {"who": [f"point {row}" for row in rows]},
    )


@pytest.fixture(scope="session")
def noisy(blobs):
    """The same with three rows that no cluster wants, the last ones."""
    points = np.concatenate([blobs.points, [[10.0, 10.0], [-9.0, 9.0], [0.0, 0.0]]])
    clustering = coterie.AMCP("amcp-mog2d", noise=True, min_cluster_size=5).fit(points).clustering_
    assert (clustering.labels[300:] == -1).all()
    return gather(clustering, points, ("width", "height"), Origin("strays.csv", "c"))
