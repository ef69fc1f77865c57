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
